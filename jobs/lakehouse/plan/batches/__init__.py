"""From the profile of a batch to the plans of its tables."""
