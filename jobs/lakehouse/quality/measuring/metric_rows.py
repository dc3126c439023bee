"""Rows that metrics are summed from, whatever they are of: counted ones, and keyed ones.

In: SQL for each field. Out: `SELECT` texts, so that Spark analyses all tables at once. Counted rows
are summed at once; those that are grouped by key first have little to carry, and no text.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PERHAPS_BACK = "perhaps_back"
COUNTS = (
    "changed_rows",
    "null_keys",
    "placeholder_values",
    "missing_positions",
    "rows_outside_cut",
    "nulls_in_required",
    "values_out_of_range",
    "messages",
    "missing_coordinates",
    "missing_timestamps",
    "future_timestamps",
    "ancient_timestamps",
    # Of rows whose key may have been at a newer version before.
    PERHAPS_BACK,
)
KEYED = ("n", "rows", "references", "referenced")
ROW_COUNT = "row_count"
# Of rows that were grouped by key.
OF_KEYS = (ROW_COUNT, "repeated", "dangling")
_NO_NUMBER = "CAST(NULL AS bigint)"


def own_counts(width: int) -> tuple[str, ...]:
    """The names of the counts of rules that persons wrote."""
    return tuple(f"own_{number}" for number in range(width))


def sums(width: int) -> tuple[str, ...]:
    """All that is summed by subject."""
    return (*COUNTS, *own_counts(width), *OF_KEYS)


def key_hashes(subject: str, values: Iterable[str], missing: str = "false") -> tuple[str, str]:
    """SQL for both halves of 128 bits that name a key of a subject among those of all.

    Args:
        subject: Whose key it is.
        values: SQL of the key's parts.
        missing: SQL for whether a part is missing: such a key has no name.
    """
    salts = struct.unpack(">2q", hashlib.sha256(subject.encode()).digest()[:16])
    listed = ", ".join(values)
    first, second = (f"if({missing}, NULL, xxhash64({salt}L, {listed}))" for salt in salts)
    return first, second


@dataclass(frozen=True, slots=True)
class Counted:
    """One `SELECT` of rows that count by themselves; every field is SQL.

    Attributes:
        counts: By name in `sums`; the others are 0.
        offset: Kafka offset, for messages alone.
        newest: When it was changed, or sent: microseconds since the epoch.
        own: How many rules of a person the row breaks, for each of a table's rules.
        width: How many such rules the table with the most has: all statements have one shape.
    """

    subject: str
    counts: Mapping[str, str] = field(default_factory=dict)
    offset: str = _NO_NUMBER
    newest: str = _NO_NUMBER
    own: tuple[str, ...] = ()
    width: int = 0

    def select(self, relation: str, rest: str = "") -> str:
        """The statement over a relation, with what may stand behind that."""
        own = dict(zip(own_counts(self.width), self.own, strict=False))
        named = {**dict.fromkeys(sums(self.width), "0"), **self.counts, **own}
        counts = ", ".join(f"bigint({text}) {name}" for name, text in named.items())
        return (
            f"SELECT {self.subject} subject, {counts}, {self.offset} offset, "
            f"{self.newest} newest FROM {relation} {rest}"
        )


@dataclass(frozen=True, slots=True)
class Keyed:
    """One `SELECT` of rows that are grouped by key; every field is SQL.

    Attributes:
        h1: Half of the hash of a key; NULL where a row has none.
        h2: The other half.
        n: Whether no other row may have its key.
        rows: Whether it is to be counted as a row of its subject.
        references: Whether it refers to the key.
        referenced: Whether it has the key that others refer to.
    """

    subject: str
    h1: str
    h2: str
    n: str = "0"
    rows: str = "0"
    references: str = "0"
    referenced: str = "0"

    def select(self, relation: str, where: str = "true") -> str:
        """The statement over a relation."""
        numbers = (self.h1, self.h2, *(getattr(self, name) for name in KEYED))
        named = zip(("h1", "h2", *KEYED), numbers, strict=True)
        fields = ", ".join(f"bigint({text}) {name}" for name, text in named)
        return f"SELECT {self.subject} subject, {fields} FROM {relation} WHERE {where}"
