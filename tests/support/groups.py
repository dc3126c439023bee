"""A group of a batch's profile, as a test needs it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakehouse.plan.batches.groups import Group

_EVENT = Group(
    topic="t",
    partition=0,
    role="data",
    control=False,
    is_schema_change=False,
    reason=None,
    identity=None,
    renamed=False,
    collection="",
    fingerprint=1,
    key_fields=None,
    count=1,
    rows=1,
    first_offset=0,
    first_position=None,
    placeholders=0,
    suspects=0,
    truncate=None,
)


def group_of(**given: Any) -> Group:
    """One change event, with what is given in place of its own values."""
    return replace(_EVENT, **given)
