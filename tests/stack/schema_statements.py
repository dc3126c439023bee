"""Each kind of schema change as each database of the stack makes it.

A change has a table of its own, named after its kind; `{t}` stands for that name. Every kind of
`tests.support.schema_verdicts` is here for every engine: where a database has no such thing, the
nearest that it has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from infra.sources import Engine

PREFIX = "ch_"
_CREATE = "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, qty int, name varchar(40))"
_WIDE = "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, qty bigint, name varchar(40))"
_ROW = "INSERT INTO {t} (id, qty, name) VALUES (1, 1, 'a')"


@dataclass(frozen=True, slots=True)
class LiveChange:
    """A change of one table.

    Attributes:
        statements: What makes the change.
        before: What makes the table with a row.
        after: A row that the table gets behind the change.
        table: The name that it has then.
    """

    statements: tuple[str, ...]
    before: tuple[str, ...] = (_CREATE, _ROW)
    after: str = "INSERT INTO {t} (id, name) VALUES (2, 'b')"
    table: str = "{t}"

    def of(self, kind: str) -> LiveChange:
        """The change with its table's name."""
        name = f"{PREFIX}{kind}"
        table = self.table.format(t=name)
        return LiveChange(
            tuple(sql.format(t=name) for sql in self.statements),
            tuple(sql.format(t=name) for sql in self.before),
            self.after.format(t=table),
            table,
        )


def altered(clause: str, **more: object) -> LiveChange:
    return replace(LiveChange((f"ALTER TABLE {{t}} {clause}",)), **more)


_SHARED = {
    "create_table": LiveChange((_CREATE,), before=()),
    "drop_table": LiveChange(("DROP TABLE {t}", _CREATE)),
    "add_column": altered("ADD COLUMN age int"),
    "drop_column": altered("DROP COLUMN qty"),
    "rename_column": altered("RENAME COLUMN qty TO amount"),
    "default": altered("ALTER COLUMN qty SET DEFAULT 7"),
    "constraint": altered("ADD CONSTRAINT {t}_fk FOREIGN KEY (qty) REFERENCES {t} (id)"),
}
_NOT_NULL = "INSERT INTO {t} (id, qty, name) VALUES (2, 2, 'b')"
_OTHER_TABLE = (_CREATE, _ROW, _WIDE.format(t="_{t}_new"), _ROW.format(t="_{t}_new"))
_POSTGRESQL = {
    **_SHARED,
    "rename_table": replace(altered("RENAME TO {t}_now"), table="{t}_now"),
    "swap_table": LiveChange(
        (
            "BEGIN; ALTER TABLE {t} RENAME TO _{t}_old; ALTER TABLE _{t}_new RENAME TO {t}; COMMIT",
            "DROP TABLE _{t}_old",
        ),
        before=_OTHER_TABLE,
    ),
    # Columns have no place that a statement could change: the table is made again.
    "reorder_columns": LiveChange(
        (
            "DROP TABLE {t}",
            "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, name varchar(40), qty int)",
        )
    ),
    "widen_type": altered("ALTER COLUMN qty TYPE bigint"),
    "narrow_type": altered("ALTER COLUMN qty TYPE int", before=(_WIDE, _ROW)),
    "change_type": altered("ALTER COLUMN qty TYPE varchar(40)"),
    "nullability": altered("ALTER COLUMN qty SET NOT NULL", after=_NOT_NULL),
    "primary_key": altered("DROP CONSTRAINT {t}_pkey, ADD PRIMARY KEY (id, name)"),
    "character_set": altered('ALTER COLUMN name TYPE varchar(40) COLLATE "C"'),
    # The connector reads a type once: of a value that is added to it nothing tells until a restart.
    "enum_values": LiveChange(
        (
            "CREATE TYPE {t}_sizes AS ENUM ('s', 'm', 'l')",
            "ALTER TABLE {t} ALTER COLUMN size TYPE {t}_sizes USING size::text::{t}_sizes",
        ),
        before=(
            "CREATE TYPE {t}_size AS ENUM ('s', 'm')",
            "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, qty int, size {t}_size)",
            "INSERT INTO {t} VALUES (1, 1, 's')",
        ),
        after="INSERT INTO {t} VALUES (2, 2, 'l')",
    ),
    "comment": LiveChange(("COMMENT ON COLUMN {t}.qty IS 'pieces'",)),
}
_BINLOG = {
    **_SHARED,
    "rename_table": LiveChange(("RENAME TABLE {t} TO {t}_now",), table="{t}_now"),
    "swap_table": LiveChange(
        ("RENAME TABLE {t} TO _{t}_old, _{t}_new TO {t}", "DROP TABLE _{t}_old"),
        before=_OTHER_TABLE,
    ),
    "reorder_columns": altered("MODIFY qty int AFTER name"),
    "widen_type": altered("MODIFY qty bigint"),
    "narrow_type": altered("MODIFY qty int", before=(_WIDE, _ROW)),
    "change_type": altered("MODIFY qty varchar(40)"),
    "nullability": altered("MODIFY qty int NOT NULL", after=_NOT_NULL),
    "primary_key": altered("DROP PRIMARY KEY, ADD PRIMARY KEY (id, name)"),
    "character_set": altered("CONVERT TO CHARACTER SET latin1"),
    "enum_values": LiveChange(
        ("ALTER TABLE {t} MODIFY size enum('s', 'm', 'l')",),
        before=(
            "CREATE TABLE {t} (id int NOT NULL PRIMARY KEY, qty int, size enum('s', 'm'))",
            "INSERT INTO {t} VALUES (1, 1, 's')",
        ),
        after="INSERT INTO {t} VALUES (2, 2, 'l')",
    ),
    "comment": altered("MODIFY qty int COMMENT 'pieces'"),
}


def live_changes(engine: Engine) -> dict[str, LiveChange]:
    """Kind → the change, as the engine makes it."""
    changes = _POSTGRESQL if engine is Engine.POSTGRESQL else _BINLOG
    return {kind: change.of(kind) for kind, change in changes.items()}
