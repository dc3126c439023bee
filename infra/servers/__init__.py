"""The servers of the local stack: how each is prepared, started, asked whether it is ready."""
