"""The schema versions of a table's batch, in the order in which they came.

In: the groups of its events, the schemas that these carry, what silver has. Out: one `Version`
each, with the names that silver has for its columns, or why it cannot be used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TopicPartition, Version
from lakehouse.plan.progress import Progress
from lakehouse.plan.schemas.renames import Renames
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What is known of a table before the batch.

    Attributes:
        silver: Namespace and name of its silver table.
        stored: Silver's columns, name → Spark type; empty when there is no table yet.
        start: Where its events begin.
        holds: Fingerprints that `check` holds → why.
        key: The columns that identify a row; empty for a bag of rows, None for no table yet.
        renames: The columns that the source renamed, and which of them silver has followed.
        is_empty: Whether the batch begins without a row, whatever silver has: all is applied again.
        dropped: Columns that silver is not to have any more, in lower case.
    """

    silver: str
    stored: Mapping[str, str]
    start: Progress
    holds: Mapping[int, str]
    key: tuple[str, ...] | None = None
    renames: Renames = field(default_factory=Renames)
    is_empty: bool = False
    dropped: frozenset[str] = frozenset()

    @property
    def has_rows(self) -> bool:
        """Whether the batch builds on rows that silver has."""
        return bool(self.stored) and not self.is_empty


def table_versions(
    groups: Sequence[Group], schemas: Mapping[int, RowSchema], facts: TableFacts
) -> list[tuple[Version, str]]:
    """The schema versions in the order in which they came, each with why it cannot be used.

    Args:
        groups: Of the table, in any order.
        schemas: Fingerprint → columns.
        facts: What is known of the table.
    """
    found: dict[int, list[Group]] = {}
    for group in groups:
        if group.fingerprint is not None:
            found.setdefault(group.fingerprint, []).append(group)
    positions = {fingerprint: _first_position(mine) for fingerprint, mine in found.items()}
    # Offsets of several topic partitions have no order; positions have one, where all have one.
    by_position = all(positions.values())
    ordered = sorted(
        found,
        key=lambda fingerprint: (
            positions[fingerprint] if by_position else "",
            min(group.first_offset for group in found[fingerprint]),
        ),
    )
    return [
        _version(fingerprint, found[fingerprint], schemas[fingerprint], facts)
        for fingerprint in ordered
    ]


def blank_version(stored: Mapping[str, str], key: Sequence[str]) -> Version:
    """The version of a batch that holds no row: a truncate alone.

    Args:
        stored: Column of silver → its Spark type.
        key: The columns that identify a row.
    """
    columns = tuple(Column(name, ValueType(Kind.CAST, stored[name]), optional=True) for name in key)
    return Version(0, columns, tuple(key), {})


def _version(
    fingerprint: int, groups: Sequence[Group], schema: RowSchema, facts: TableFacts
) -> tuple[Version, str]:
    first: dict[TopicPartition, int] = {}
    for group in groups:
        place = (group.topic, group.partition)
        first[place] = min(first.get(place, group.first_offset), group.first_offset)
    names = [column.name for column in schema.columns]
    stored = facts.renames.stored_names(names, _first_position(groups), facts.stored)
    # A truncate has no key and says nothing.
    shapes = {str(g.key_fields) for g in groups if g.rows and g.key_fields not in (None, "[]")}
    fields = {name for shape in shapes for name in json.loads(shape)}
    # What silver has still it gets, until `publish` takes it away.
    present = {name.lower() for name in facts.stored}
    gone = {name for name, s in stored.items() if s.lower() in facts.dropped - present} - fields
    key = tuple(stored[name] for name in names if name in fields) if shapes else None
    problem = schema.problem
    if len(shapes) > 1:
        shown = " and ".join(sorted(shapes))
        problem = problem or f"the event key changed its fields: {shown}"
    columns = tuple(column for column in schema.columns if column.name not in gone)
    withheld = (*schema.withheld, *sorted(gone))
    return Version(fingerprint, columns, key, first, stored, withheld), problem


def _first_position(groups: Iterable[Group]) -> str:
    return min((group.first_position for group in groups if group.first_position), default="")
