"""Plugins for pytest that `make test` loads."""
