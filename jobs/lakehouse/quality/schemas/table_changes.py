"""One table after one change, as a document of the schema change topic tells it.

In: an entry of `tableChanges`, the columns that the statement renames. Out: a `TableChange`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.connectors import CONNECTORS
from lakehouse.connectors.base import DATABASE_SCHEMA_TABLE
from lakehouse.names import TableIdentity, split_identifier
from lakehouse.quality.schemas.source_types import without_sizes
from lakehouse.quality.schemas.table_columns import COMPARED, TableColumn


@dataclass(frozen=True, slots=True)
class TableChange:
    """One table after one change; no columns after a drop.

    Attributes:
        unknown_keys: Columns of the primary key that the table has not.
        misplaced: Columns whose number is not their place in the list.
        was: What it was before the change, where the statement renames the table.
        swapped: Whether the statement put another table in its place, as online schema changes do.
        by_hand: Whether no tool for online schema changes named a table that took its name.
    """

    kind: str
    identity: TableIdentity
    columns: tuple[TableColumn, ...]
    unknown_keys: tuple[str, ...]
    was: TableIdentity | None = None
    swapped: bool = False
    by_hand: bool = False
    misplaced: tuple[str, ...] = ()


def table_change(
    change: Mapping[str, object], connector: str, renamed: Sequence[tuple[str, str]]
) -> TableChange:
    """Read one entry of `tableChanges`.

    Args:
        change: The entry.
        connector: Says which parts an id without a database has.
        renamed: The columns that the statement renames, as they were and as they are.

    Raises:
        ValueError: The id has not as many parts as it should have.
    """
    kind, table = str(change["type"]), change.get("table")
    identity = _identity(str(change["id"]), connector)
    if not isinstance(table, Mapping):
        return TableChange(kind, identity, (), ())
    was = _former(change, identity, connector)
    keys = [str(name) for name in table.get("primaryKeyColumnNames") or ()]
    columns = _with_old_names([_column(column, keys) for column in table["columns"]], renamed)
    names = {column.name for column in columns}
    unknown = tuple(key for key in keys if key not in names)
    misplaced = _misplaced(table["columns"])
    return TableChange(kind, identity, columns, unknown, was=was, misplaced=misplaced)


def _former(
    change: Mapping[str, object], identity: TableIdentity, connector: str
) -> TableIdentity | None:
    """What a renamed table was, which the connector's own history tells."""
    if change.get("previousId") is None:
        return None
    before = _identity(str(change["previousId"]), connector)
    return None if before == identity else before


def _misplaced(columns: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    places = enumerate(columns, 1)
    return tuple(str(c["name"]) for place, c in places if c.get("position", place) != place)


def _with_old_names(
    columns: Sequence[TableColumn], renamed: Sequence[tuple[str, str]]
) -> tuple[TableColumn, ...]:
    """A statement may write names in another case than the source has them."""
    was = {name.lower(): old for old, name in renamed if old.lower() != name.lower()}
    return tuple(replace(c, was=was.get(c.name.lower(), "")) for c in columns)


def _column(column: Mapping[str, object], keys: Sequence[str]) -> TableColumn:
    name, default = str(column["name"]), column.get("defaultValueExpression")
    return TableColumn(
        name=name,
        # Oracle's has the length and the scale, which stand apart too.
        type=without_sizes(str(column.get("typeExpression") or column.get("typeName"))),
        length=_size(column.get("length")),
        scale=_size(column.get("scale")),
        optional=bool(column.get("optional")),
        default=None if default is None else str(default),
        key=name in keys,
        extra=json.dumps({member: column.get(member) for member in COMPARED}),
    )


def _size(value: object) -> int | None:
    return int(str(value)) if value is not None else None


def _newest(text: str) -> str:
    """TiCDC names a renamed table twice: the old one, a comma, the new one."""
    old, comma, new = text.rpartition('","')
    both = comma and split_identifier(f'{old}"') and split_identifier(f'"{new}')
    return f'"{new}' if both else text


def _identity(text: str, connector: str) -> TableIdentity:
    """The table that a change names, as `"db"."schema"."table"` or two parts of it."""
    parts = split_identifier(_newest(text)) or ()
    own = CONNECTORS[connector].identity_parts
    names = DATABASE_SCHEMA_TABLE if len(parts) == len(DATABASE_SCHEMA_TABLE) else own
    if len(parts) != len(names):
        raise ValueError(f"id {text!r}: expected the parts {', '.join(names)}")
    return TableIdentity.of_parts(parts, names)
