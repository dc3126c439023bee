"""Which transactions of a batch are whole, and where what waits for the others begins."""
