"""Rows measured, in bronze and in silver: what the suites of a run are judged by."""
