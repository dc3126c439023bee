"""Text of Spark SQL: literals, and conditions on where a message stands.

Conditions over many topic partitions are text, since a `Column` costs a call of the JVM for each
operator and makes a tree as deep as there are partitions; the parser balances it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from lakehouse.names import bronze_table, quote_table
from lakehouse.plan.catalog import CATALOG


def literal(text: str) -> str:
    """The text as a string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def timestamp(time: datetime) -> str:
    """The time as a literal, to the second."""
    return f"TIMESTAMP {literal(f'{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00:00')}"


def in_partition(place: tuple[str, int], struct: str = "") -> str:
    """Whether a message is of a topic partition.

    Args:
        place: Topic and partition.
        struct: The struct that has a message's coordinates, quoted; empty for columns.
    """
    topic, number = place
    prefix = f"{struct}." if struct else ""
    return f"{prefix}topic = {literal(topic)} AND {prefix}partition = {number}"


def in_offsets(place: tuple[str, int], start: int, end: int) -> str:
    """Whether a message is of the offsets `[start, end)` of a topic partition."""
    return f"{in_partition(place)} AND offset >= {start} AND offset < {end}"


def let(name: str, value: str, body: str) -> str:
    """`body` with a value that is computed once, however often the body names it."""
    return f"transform(array({value}), {name} -> {body})[0]"


def any_of(conditions: Iterable[str]) -> str:
    """Whether one of the conditions holds; of none, none does."""
    return " OR ".join(f"({condition})" for condition in conditions) or "false"


def all_of(conditions: Iterable[str]) -> str:
    """Whether every condition holds; of none, every one does."""
    return " AND ".join(f"({condition})" for condition in conditions) or "true"


def messages_query(source: str, places: Iterable[tuple[str, int, int]]) -> str:
    """A query, for a person, of some messages and of all others with their event keys.

    It names coordinates alone: an event key may hold what a mask hides everywhere but in bronze.

    Args:
        source: The source.
        places: Topic, partition and offset of each; at least one.
    """
    offsets: dict[tuple[str, int], set[int]] = {}
    for topic, partition, offset in places:
        offsets.setdefault((topic, partition), set()).add(offset)
    these = any_of(
        f"{in_partition(place)} AND offset IN ({', '.join(map(str, sorted(found)))})"
        for place, found in sorted(offsets.items())
    )
    topics = ", ".join(literal(topic) for topic in sorted({topic for topic, _ in offsets}))
    bronze = quote_table(f"{CATALOG}.{bronze_table(source)}")
    return (
        "SELECT topic, partition, offset, timestamp, string(key), string(value) "
        f"FROM {bronze} WHERE topic IN ({topics}) AND ({these} "
        f"OR key IN (SELECT key FROM {bronze} WHERE {these})) ORDER BY topic, partition, offset"
    )
