"""Schema change events: parsed, and compared with the version of a table before them.

In: messages of the schema change topic. Out: events with the full table after each change.
https://debezium.io/documentation/reference/stable/connectors/mysql.html ("Schema change topic")
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lakehouse.config import ChangeKind
from lakehouse.connectors import CONNECTORS, Connector
from lakehouse.connectors.base import DATABASE_SCHEMA_TABLE
from lakehouse.names import TableIdentity, split_identifier
from lakehouse.plan.foreign_keys import changes_keys
from lakehouse.plan.statements import Name, Names, renamed_columns, renamed_tables, replaced_columns
from lakehouse.quality.source_types import size_rank, without_sizes

# The names of a table in lower case.
Folded: TypeAlias = tuple[str, ...]

_MEMBERS = ("source", "ddl", "tableChanges")
_HOMES = ("databaseName", "schemaName")
# What Db2 and SQL Server send instead of a statement, but for a source snapshot.
NO_STATEMENT = "N/A"


@dataclass(frozen=True, slots=True)
class SchemaMessage:
    """A message of the schema change topic.

    Attributes:
        position: As in `_cdc.position`; None where the source block has none.
        document: The payload as JSON text; None when the value is no JSON.
        is_snapshot: Whether a source snapshot tells what is there already.
    """

    topic: str
    partition: int
    offset: int
    position: str | None
    document: str | None
    is_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as the schema change event describes it.

    Attributes:
        type: The source's type; length and scale stand apart.
        extra: Character set, comment and enum values as JSON text, for comparing.
        was: Its name before the change, where the statement renames it; else empty.
        anew: Whether the statement drops the column of that name and adds this one.
    """

    name: str
    type: str
    length: int | None
    scale: int | None
    optional: bool
    default: str | None
    key: bool
    extra: str
    was: str = ""
    anew: bool = False

    @property
    def type_text(self) -> str:
        """The type as the source writes it."""
        sizes = [str(size) for size in (self.length, self.scale) if size is not None]
        return f"{self.type}({','.join(sizes)})" if sizes else self.type


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


@dataclass(frozen=True, slots=True)
class SchemaEvent:
    """A schema change event; `problem` says why it could not be read.

    Attributes:
        renamed: The tables that its statement renames, as they were and as they are.
        keyed: Those of which it adds or drops foreign keys or constraints, in lower case.
    """

    message: SchemaMessage
    ddl: str
    changes: tuple[TableChange, ...]
    problem: str = ""
    renamed: tuple[tuple[TableIdentity, TableIdentity], ...] = ()
    keyed: frozenset[str] = frozenset()


def parse_event(message: SchemaMessage, connector: str) -> SchemaEvent:
    """Read one message; what cannot be read is an event with a problem, never an error."""
    try:
        document = json.loads(message.document or "")
        missing = [name for name in _MEMBERS if name not in document]
        if missing:
            return SchemaEvent(message, "", (), f"without {', '.join(missing)}")
        return event_of(message, document, connector)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as broken:
        return SchemaEvent(message, "", (), f"not readable: {type(broken).__name__}: {broken}")


def event_of(message: SchemaMessage, document: Mapping[str, object], connector: str) -> SchemaEvent:
    """The statement of a document, and what it did to tables.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: The document is none of a schema change.
    """
    rules = CONNECTORS[connector]
    dialect = rules.ddl_dialect
    ddl, told = str(document.get("ddl") or ""), document.get("tableChanges") or ()
    if not isinstance(told, Sequence):
        raise TypeError(f"tableChanges: expected a list, found {type(told).__name__}")
    columns, tables = renamed_columns(ddl, dialect), renamed_tables(ddl, dialect)
    sent = [_change(each, connector, columns) for each in told]
    read = _with_new_columns(sent, replaced_columns(ddl, dialect))
    changes = _with_old_tables(read, tables, rules)
    told_so = [(change.was, change.identity) for change in changes if change.was]
    own = changes[0].identity if changes else _own(document)
    unsent = (tuple(_named(own, name, rules) for name in pair) for pair in tables)
    renamed = tuple(dict.fromkeys((*told_so, *((was, name) for was, name in unsent))))
    keyed = changes_keys(ddl, rules)
    return SchemaEvent(message, ddl, tuple(changes), renamed=renamed, keyed=keyed)


def without_copies(events: Sequence[SchemaEvent]) -> tuple[SchemaEvent, ...]:
    """Each change once: where events stand in data topics, every topic partition has them all."""
    seen: set[tuple[object, ...]] = set()
    kept: list[SchemaEvent] = []
    for event in events:
        told = (event.message.position, event.ddl, event.changes)
        if event.message.position is None or event.problem or told not in seen:
            kept.append(event)
        seen.add(told)
    return tuple(kept)


def change_kinds(
    before: Sequence[TableColumn] | None, after: Sequence[TableColumn]
) -> tuple[ChangeKind, ...]:
    """What changed from one version of a table to the next; None is no table before."""
    if not after:
        return ("drop_table",)
    if before is None:
        return ("create_table",)
    anew = {column.name.lower() for column in after if column.anew}
    left = [column for column in before if column.name.lower() not in anew]
    renamed = _under_new_names(left, after)
    kinds: set[ChangeKind] = {"rename_column"} if renamed != left else set()
    if len(renamed) < len(before):
        kinds.add("drop_column")
    before = renamed
    old, new = {c.name: c for c in before}, {c.name: c for c in after}
    if new.keys() - old.keys():
        kinds.add("add_column")
    if old.keys() - new.keys():
        kinds.add("drop_column")
    both = [name for name in new if name in old]
    if both != [name for name in old if name in new]:
        kinds.add("reorder_columns")
    if [c.name for c in before if c.key] != [c.name for c in after if c.key]:
        kinds.add("primary_key")
    for name in both:
        kinds |= _column_kinds(old[name], new[name])
    return tuple(sorted(kinds))


def columns_json(columns: Sequence[TableColumn]) -> str:
    """Columns as `quality.schema_versions.columns` holds them."""
    return json.dumps(
        [
            {
                "name": c.name,
                "type": c.type_text,
                "optional": c.optional,
                "default": c.default,
                "key": c.key,
                "was": c.was,
                "of": [c.type, c.length, c.scale, c.extra],
            }
            | ({"anew": True} if c.anew else {})
            for c in columns
        ]
    )


def columns_from_json(text: str) -> tuple[TableColumn, ...]:
    """Read what `columns_json` wrote."""
    return tuple(
        TableColumn(
            name=c["name"],
            type=c["of"][0],
            length=c["of"][1],
            scale=c["of"][2],
            optional=c["optional"],
            default=c["default"],
            key=c["key"],
            extra=c["of"][3],
            was=c.get("was", ""),
            anew=c.get("anew", False),
        )
        for c in json.loads(text)
    )


def _under_new_names(
    before: Sequence[TableColumn], after: Sequence[TableColumn]
) -> list[TableColumn]:
    there = {column.name.lower() for column in before}
    names = {c.was.lower(): c.name for c in after if c.was.lower() in there}
    taken = {name.lower() for name in names.values()} - names.keys()
    # A column whose name another one takes is gone.
    left = (c for c in before if c.name.lower() not in taken or c.name.lower() in names)
    return [replace(c, name=names.get(c.name.lower(), c.name)) for c in left]


def _column_kinds(old: TableColumn, new: TableColumn) -> set[ChangeKind]:
    kinds: set[ChangeKind] = set()
    if _sized(old) != _sized(new):
        kinds.add(_type_kind(old, new))
    if old.optional != new.optional:
        kinds.add("nullability")
    if old.default != new.default:
        kinds.add("default")
    was, wanted = json.loads(old.extra), json.loads(new.extra)
    # Where one topic has none, another has an empty list or text.
    told = (
        (kind, was.get(name) or None, wanted.get(name) or None) for name, kind in _EXTRA.items()
    )
    return kinds | {kind for kind, before, after in told if before != after}


_EXTRA: Mapping[str, ChangeKind] = {
    "charsetName": "character_set",
    "enumValues": "enum_values",
    "comment": "comment",
}


def _sized(column: TableColumn) -> tuple[str, int | None, int | None]:
    """The type; the length of a whole number is that of its display."""
    if size_rank(column.type):
        return column.type.lower(), None, None
    return column.type, column.length, column.scale


def _type_kind(old: TableColumn, new: TableColumn) -> ChangeKind:
    was, wanted = size_rank(old.type), size_rank(new.type)
    if was and wanted and was[0] == wanted[0]:
        return "widen_type" if wanted[1] > was[1] else "narrow_type"
    if old.type != new.type or old.scale != new.scale or old.length is None or new.length is None:
        return "change_type"
    return "widen_type" if new.length > old.length else "narrow_type"


def _change(
    change: Mapping[str, object], connector: str, renamed: Sequence[tuple[str, str]]
) -> TableChange:
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


def _with_old_tables(
    changes: Sequence[TableChange], renamed: Sequence[Names], rules: Connector
) -> tuple[TableChange, ...]:
    """A name without its database is one of the table's own, which stands in the change."""
    return tuple(
        replace(
            change,
            was=next(
                (
                    _named(change.identity, old, rules)
                    for old, name in reversed(renamed)
                    if folded(_named(change.identity, name, rules)) == folded(change.identity)
                ),
                change.was,
            ),
        )
        for change in changes
    )


def _named(own: TableIdentity, name: Name, rules: Connector) -> TableIdentity:
    """The table that a statement names where `own` is at home; it may write it in another case."""
    qualifier, table = name
    is_schema = "schema_name" in rules.identity_parts
    home = own.schema_name if is_schema else own.database
    if not qualifier or qualifier.lower() == (home or "").lower():
        return replace(own, table=table)
    if is_schema:
        return replace(own, schema_name=qualifier, table=table)
    return replace(own, database=qualifier, table=table)


def folded(table: TableIdentity) -> Folded:
    """A table whatever the case that its name is written in."""
    return tuple((part or "").lower() for part in (table.database, table.schema_name, table.table))


def _own(document: Mapping[str, object]) -> TableIdentity:
    """Where the statement of a document was, as far as it says so, without a table."""
    database, schema = (str(document.get(name) or "") or None for name in _HOMES)
    return TableIdentity(database, schema, "")


def _with_new_columns(
    changes: Sequence[TableChange], replaced: Collection[str]
) -> Sequence[TableChange]:
    return [
        replace(
            change,
            columns=tuple(replace(c, anew=c.name.lower() in replaced) for c in change.columns),
        )
        for change in changes
    ]


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
        extra=json.dumps({member: column.get(member) for member in _EXTRA}),
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
