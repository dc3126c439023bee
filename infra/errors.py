"""The error of the local stack; commands show it without a traceback."""

from __future__ import annotations

from lakehouse.errors import LakehouseError


class StackError(LakehouseError):
    """A server of the local stack could not be prepared, started, reached or stopped."""

    exit_code = 7


class NotReady(Exception):
    """A server does not answer yet; the message says what it did instead. No command shows it."""
