"""What a batch does to one table, its rows and its state, staged on a branch."""
