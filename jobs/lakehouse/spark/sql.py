"""Text of Spark SQL: literals, and conditions on where a message stands.

Conditions over many topic partitions are text, since a `Column` costs a call of the JVM for each
operator and makes a tree as deep as there are partitions; the parser balances it.
"""

from __future__ import annotations

from collections.abc import Iterable


def literal(text: str) -> str:
    """The text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def in_partition(place: tuple[str, int], struct: str = "") -> str:
    """Whether a message is of a topic partition.

    Args:
        place: Topic and partition.
        struct: The struct that has a message's coordinates, quoted; empty for columns.
    """
    topic, number = place
    prefix = f"{struct}." if struct else ""
    return f"{prefix}topic = {literal(topic)} AND {prefix}partition = {number}"


def any_of(conditions: Iterable[str]) -> str:
    """Whether one of the conditions holds; of none, none does."""
    return " OR ".join(f"({condition})" for condition in conditions) or "false"


def all_of(conditions: Iterable[str]) -> str:
    """Whether every condition holds; of none, every one does."""
    return " AND ".join(f"({condition})" for condition in conditions) or "true"
