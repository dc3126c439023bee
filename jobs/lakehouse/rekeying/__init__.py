"""A primary key of a source changes: drained, stopped, followed by silver, restarted."""
