"""Rows that go by no change event: erased for a subject, or found to be gone from the source."""
