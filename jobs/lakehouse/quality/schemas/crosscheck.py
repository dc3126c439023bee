"""Whether what statements told of a table is what its data events carry.

In: new schema versions of data events, and what statements told. Out: each difference with the
position at which it shows. Statements may have been lost, or filters of the connector may leave out
columns; silver follows the data events either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.masks import masks_of
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations, Parts
from lakehouse.plan.schemas.row_schema import PROVEN
from lakehouse.plan.schemas.types import Column
from lakehouse.quality.schemas.column_lives import placed
from lakehouse.quality.schemas.table_columns import TableColumn, columns_from_json
from lakehouse.quality.schemas.versions import Judged, Version

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """What a statement and the data events behind it say differently of a table.

    Attributes:
        position: Of the first data event.
        text: In words.
    """

    table: TableIdentity
    position: str
    text: str


def differences(
    source: SourceConfig,
    tables: Mapping[TableIdentity, Sequence[Judged]],
    rows: Sequence[SchemaVersionRow],
    lives: Incarnations,
) -> tuple[Difference, ...]:
    """The differences of versions that are new.

    Args:
        source: Says which columns are withheld, and which tables have a key of their own.
        tables: The versions that data events carry, judged.
        rows: All that is recorded and told, oldest first.
        lives: What happened to whole tables.
    """
    by_life = _statements(rows, source.connector, lives)
    return tuple(
        found
        for table, versions in tables.items()
        for judged in versions
        if judged.is_new and judged.version.position and not judged.version.problem
        for found in _compare(
            source,
            judged.version,
            by_life.get((table.parts(source.connector), table.incarnation), ()),
        )
    )


def _statements(
    rows: Iterable[SchemaVersionRow], connector: str, lives: Incarnations
) -> dict[tuple[Parts, int], list[SchemaVersionRow]]:
    """Table of today and incarnation → the statements that left columns, by position."""
    found: dict[tuple[Parts, int], list[SchemaVersionRow]] = {}
    for row in placed(rows):
        if row.is_from_ddl and row.columns != "[]":
            life = lives.at(row.source_table.parts(connector), row.position)
            found.setdefault(life, []).append(row)
    return found


def _compare(
    source: SourceConfig, version: Version, told: Sequence[SchemaVersionRow]
) -> Iterator[Difference]:
    # Without a schema in the messages their columns are what the values prove.
    if any(column.wire == PROVEN for column in version.columns):
        return
    # A source snapshot reads at the position of its statements; SQL Server's and Db2's may have
    # the position of the last event before them.
    at = [row for row in told if row.position <= version.position][-1:]
    before = [row for row in told if row.position < version.position][-1:]
    options = source.table_options(version.identity)
    withheld = {name for name, mask in masks_of(options).items() if mask == "drop"}
    has_own_key = bool(options.key)
    texts = [
        list(_texts(columns_from_json(row.columns), version, withheld, has_own_key=has_own_key))
        for row in (*at, *before)
    ]
    if texts and all(texts):
        yield Difference(version.identity, version.position, "; ".join(texts[0][:_SHOWN]))


def _texts(
    told: Sequence[TableColumn], version: Version, withheld: Collection[str], *, has_own_key: bool
) -> Iterator[str]:
    statement = {c.name.lower(): c for c in told if c.name.lower() not in withheld}
    sent = {column.name.lower(): column for column in version.columns}
    for name in sorted(sent.keys() - statement.keys()):
        yield f"column {sent[name].name!r} stands in data events alone"
    for name in sorted(statement.keys() - sent.keys()):
        yield f"column {statement[name].name!r} stands in the statement alone"
    for name in sorted(sent.keys() & statement.keys()):
        yield from _column_texts(statement[name], sent[name])
    keys = sorted(column.name for column in told if column.key)
    if version.key and keys and not has_own_key and keys != sorted(version.key):
        of_events = ", ".join(version.key)
        yield f"the key is {', '.join(keys)} by the statement and {of_events} in data events"


def _column_texts(told: TableColumn, sent: Column) -> Iterator[str]:
    if told.optional != sent.optional:
        is_null, by_events = _nullable(told.optional), _nullable(sent.optional)
        yield f"column {sent.name!r} is {is_null} by the statement and {by_events} in data events"
    # Without a semantic type nothing says that the number is a decimal of the source.
    wanted = f"decimal({told.length},{told.scale})"
    is_decimal = sent.semantic and sent.type.spark.startswith("decimal(")
    if is_decimal and told.scale is not None and sent.type.spark != wanted:
        yield f"column {sent.name!r} is {wanted} by the statement and sent as {sent.type.spark}"


def _nullable(optional: bool) -> str:  # noqa: FBT001 - what it is asked about
    return "nullable" if optional else "not null"
