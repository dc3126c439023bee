"""What `apply` does with a batch: its tables planned, staged, and handed over."""
