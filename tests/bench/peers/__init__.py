"""Other systems that change the same table, each as a program of its own environment."""
