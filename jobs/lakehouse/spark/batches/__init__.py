"""A batch: messages between two cuts, parsed once, and the profile that the driver plans with."""
