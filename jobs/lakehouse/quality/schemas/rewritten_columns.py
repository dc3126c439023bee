"""Columns whose stored values the source may have changed with their type, in silence.

In: recorded versions of data events' schemas. Out: for each table the versions that brought such a
change, where they begin, and its columns. A wider type keeps every value as it was; a narrower one
may round, and another one converts (`design.md` §4).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.tables import Place
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.schemas.row_schema import PROVEN
from lakehouse.plan.schemas.schema import diff_columns
from lakehouse.quality.schemas.changes import under_new_names
from lakehouse.quality.schemas.statements import Told, told
from lakehouse.quality.schemas.versions import FOLLOWED, newest_versions, shape_of

_REWRITING = ("narrow_type", "change_type")


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A version that changed values of older rows, or may have.

    Attributes:
        first: Where its first event stands.
        columns: Column in the events → what happened to it.
    """

    first: Place
    columns: Mapping[str, str]


def rewritings(
    rows: Sequence[SchemaVersionRow], connector: str, lives: Incarnations
) -> dict[TableIdentity, dict[int, Rewriting]]:
    """Table of today → fingerprint → what its version changed; those that silver follows.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        connector: Of the source.
        lives: What happened to whole tables.
    """
    by_table: dict[TableIdentity, list[SchemaVersionRow]] = {}
    for row in rows:
        if not row.is_from_ddl:
            by_table.setdefault(lives.today(row.source_table, connector), []).append(row)
    statements = told(rows, connector, lives)
    found = {
        table: _of_table(mine, statements.get((table.parts(connector), table.incarnation), Told()))
        for table, mine in by_table.items()
    }
    return {table: mine for table, mine in found.items() if mine}


def _of_table(rows: Sequence[SchemaVersionRow], statements: Told) -> dict[int, Rewriting]:
    followed = [row for row in newest_versions(rows).values() if row.verdict in FOLLOWED]
    found = {}
    for before, after in pairwise(followed):
        # What JSON alone proves of a column differs by the values that happened to come.
        if not set(_REWRITING).intersection(after.change_kinds) or _is_proven(before, after):
            continue
        # One statement may rename a column and give it another type.
        between = statements.between(before.position, after.position)
        named, _ = under_new_names(shape_of(before), between)
        changes = diff_columns(named, shape_of(after)[0])
        columns = {c.column: _why(c.detail) for c in changes if c.kind in _REWRITING}
        if columns:
            first = (after.topic, after.partition, after.offset)
            found[int(after.fingerprint)] = Rewriting(first, columns)
    return found


def _is_proven(*rows: SchemaVersionRow) -> bool:
    return any(column.get("wire") == PROVEN for row in rows for column in json.loads(row.columns))


def _why(detail: str) -> str:
    return (
        f"its type changed ({detail}), with which the source may have changed the values of older "
        "rows without an event: they are here as they were"
    )
