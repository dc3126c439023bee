"""The files of a run's report, Data Docs among them."""
