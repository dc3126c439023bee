"""The events of a batch in the order of the source's log, and of logs that follow each other."""
