"""The events of one table, typed: what a schema version of it gives for each column."""
