"""Rows of the one shape that metrics are aggregated from, whatever they are of.

In: SQL for each field. Out: `SELECT` texts, so that Spark analyses all tables at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COUNTS = (
    "changed_rows",
    "deleted_rows",
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
    "references",
    "referenced",
)
_NO_NUMBER = "CAST(NULL AS bigint)"
NO_VERSION = "CAST(NULL AS struct<epoch: bigint, position: string>)"


def own_counts(width: int) -> tuple[str, ...]:
    """The names of the counts of rules that persons wrote."""
    return tuple(f"own_{number}" for number in range(width))


@dataclass(frozen=True, slots=True)
class Shape:
    """One `SELECT` of the shape; every field is SQL.

    Attributes:
        counts: By name in COUNTS; the others are 0.
        version: Of the staged row.
        published: The version that the published row has.
        offset: Kafka offset, for messages alone.
        newest: When it was changed, or sent: microseconds since the epoch.
        own: How many rules of a person the row breaks, for each of a table's rules.
        width: How many such rules the table with the most has: all statements have one shape.
    """

    subject: str
    h1: str
    h2: str
    n: str
    counts: Mapping[str, str]
    version: str = NO_VERSION
    published: str = NO_VERSION
    offset: str = _NO_NUMBER
    newest: str = _NO_NUMBER
    own: tuple[str, ...] = ()
    width: int = 0

    def select(self, relation: str, where: str = "true") -> str:
        """The statement over a relation."""
        own = dict(zip(own_counts(self.width), self.own, strict=False))
        named = {**dict.fromkeys((*COUNTS, *own_counts(self.width)), "0"), **self.counts, **own}
        counts = ", ".join(f"bigint({text}) {name}" for name, text in named.items())
        return (
            f"SELECT {self.subject} subject, bigint({self.h1}) h1, bigint({self.h2}) h2, "
            f"bigint({self.n}) n, {counts}, {self.version} version, "
            f"{self.published} published_version, {self.offset} first_offset, "
            f"{self.newest} newest "
            f"FROM {relation} WHERE {where}"
        )
