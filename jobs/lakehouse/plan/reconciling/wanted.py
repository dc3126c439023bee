"""Which rows are looked at one by one: those of some buckets, or those of some keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lakehouse.plan.reconciling.sums import bucket_of
from lakehouse.plan.reconciling.tables import ComparedColumn, ComparedTable


@dataclass(frozen=True, slots=True)
class Wanted:
    """A set of keys.

    Attributes:
        buckets: How many there are; 0 where keys are named one by one.
        places: The wanted ones among them.
        keys: The wanted keys, by their digests.
    """

    buckets: int = 0
    places: frozenset[int] = field(default_factory=frozenset)
    keys: frozenset[bytes] = field(default_factory=frozenset)

    def __contains__(self, key: bytes) -> bool:
        """Whether a key is wanted."""
        return bucket_of(key, self.buckets) in self.places if self.buckets else key in self.keys


def of_buckets(buckets: int, places: Iterable[int]) -> Wanted:
    """The keys of some buckets."""
    return Wanted(buckets, frozenset(places))


def of_keys(keys: Iterable[bytes]) -> Wanted:
    """Some keys."""
    return Wanted(keys=frozenset(keys))


def shown_key(table: ComparedTable, key: bytes, values: Iterable[object]) -> str:
    """A key for a person; a row of a table without one is named by a hash, never by its values.

    Args:
        table: The table.
        key: The key's digest.
        values: Of the compared columns.
    """
    if not table.key:
        return f"row {key.hex()}"
    pairs = zip(table.key_columns, values, strict=False)
    return ", ".join(f"{column.name}={_short(column, value)}" for column, value in pairs)


def _short(column: ComparedColumn, value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        text = bytes(value).decode() if column.kind == "text" else f"0x{bytes(value).hex()}"
    else:
        text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
