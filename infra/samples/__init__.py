"""Sample databases, one SQL file for each source; the same rows in every run."""
