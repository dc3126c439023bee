"""Each kind of change, as each connector sends it: what is seen of it, and what becomes of it.

A case sends the table as it was, the change, and an event behind it. What is expected of it is in
`tests.support.schema_verdicts`; the stack's tests ask it of real databases.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import pytest

from lakehouse.config import SourceConfig, parse_source
from lakehouse.config.fields import ChangeKind
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity
from lakehouse.plan.records import HOLD, SchemaVersionRow
from lakehouse.plan.schemas.row_schema import read_schema
from lakehouse.quality.schemas.ddl import SchemaEvent, SchemaMessage, parse_event
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.quality.schemas.statements import incarnations, told
from lakehouse.quality.schemas.version_rows import LandedSchemas, data_rows, ddl_rows
from lakehouse.quality.schemas.versions import Judged, Version
from tests.support.schema_messages import (
    SHAPES,
    WITH_ENUMS,
    Col,
    Json,
    identity,
    row_schema,
    schema_change,
    text_of,
)
from tests.support.schema_verdicts import MODES, VERDICTS, expected, seen_of

ID, QTY = Col("id", "int", optional=False), Col("qty", "int")
NAME, SIZE = Col("name", "text"), Col("size", "enum", values=("s", "m"))
BEFORE = (ID, QTY, NAME)
OF_MYSQL = ("mariadb", "mysql", "ticdc")


@dataclass(frozen=True)
class Change:
    """What is sent: statements with the table after each, and how the table's events are then."""

    after: Sequence[Col]
    statements: Sequence[tuple[str, str, Sequence[Col]]] = ()
    before: Sequence[Col] = BEFORE
    key: Sequence[str] = ("id",)
    table: str = "orders"
    was: dict[str, str] = field(default_factory=dict)


def altered(after: Sequence[Col], clause: str, **more) -> Change:
    table = more.pop("named", "orders")
    return Change(after, [("ALTER", f"ALTER TABLE {table} {clause}", after)], **more)


RENAME = {
    True: [("ALTER", "RENAME TABLE orders TO sales", BEFORE)],
    False: [("ALTER", "ALTER TABLE orders RENAME TO sales", BEFORE)],
}
WIDE = (ID, Col("qty", "bigint"), NAME)
# Kind → the change.
CHANGES: dict[str, Change] = {
    "create_table": Change(BEFORE, before=()),
    "drop_table": Change(
        BEFORE,
        [("DROP", "DROP TABLE orders", ()), ("CREATE", "CREATE TABLE orders (…)", BEFORE)],
    ),
    "rename_table": Change(BEFORE, RENAME[True], table="sales", was={"sales": "orders"}),
    "swap_table": Change(
        WIDE,
        [
            ("ALTER:_orders_old", "RENAME TABLE orders TO _orders_old", BEFORE),
            ("ALTER", "RENAME TABLE _orders_new TO orders", WIDE),
        ],
        was={"_orders_old": "orders", "orders": "_orders_new"},
    ),
    "add_column": altered((*BEFORE, Col("age", "int")), "ADD COLUMN age INT"),
    "drop_column": altered((ID, NAME), "DROP COLUMN qty"),
    "rename_column": altered((ID, Col("amount", "int"), NAME), "RENAME COLUMN qty TO amount"),
    "reorder_columns": altered((ID, NAME, QTY), "MODIFY qty INT AFTER name"),
    "widen_type": altered(WIDE, "MODIFY qty BIGINT"),
    "narrow_type": altered(BEFORE, "MODIFY qty INT", before=WIDE),
    "change_type": altered((ID, Col("qty", "text"), NAME), "MODIFY qty VARCHAR(40)"),
    "nullability": altered((ID, QTY.but(optional=False), NAME), "MODIFY qty INT NOT NULL"),
    "default": altered((ID, QTY.but(default=7), NAME), "ALTER qty SET DEFAULT 7"),
    "primary_key": altered(
        BEFORE, "DROP PRIMARY KEY, ADD PRIMARY KEY (id, name)", key=("id", "name")
    ),
    "character_set": altered(
        (ID, QTY, NAME.but(charset="latin1")), "CONVERT TO CHARACTER SET latin1"
    ),
    "enum_values": altered(
        (ID, QTY, SIZE.but(values=("s", "m", "l"))),
        "MODIFY size ENUM('s','m','l')",
        before=(ID, QTY, SIZE),
    ),
    "comment": altered((ID, QTY.but(comment="pieces"), NAME), "MODIFY qty INT COMMENT 'pieces'"),
    "constraint": altered(BEFORE, "ADD CONSTRAINT of_part FOREIGN KEY (qty) REFERENCES part (id)"),
}


def source_of(connector: str, mode: str, approval: Sequence[str] = ()) -> SourceConfig:
    topics = '[kafka]\ntopics = ["t"]\n' if connector == "ticdc" else ""
    kinds = ", ".join(f'"{kind}"' for kind in approval)
    text = f'connector = "{connector}"\ntopic_prefix = "p"\n{topics}'
    return parse_source(
        f'{text}[schema_changes]\nmode = "{mode}"\nrequire_approval = [{kinds}]\n', "p"
    )


@dataclass
class Source:
    """A source as `check` sees it, run by run."""

    config: SourceConfig
    rows: list[SchemaVersionRow] = field(default_factory=list)
    offset: int = 0
    position: int = 0

    def run(
        self, messages: Sequence[Json], table: str, columns: Sequence[Col], key: Sequence[str]
    ) -> tuple[Judged, ...]:
        """Schema change messages, then an event of the table; what `check` makes of them."""
        name = self.config.connector
        events = self.told(messages, TableIdentity(*identity(name, table)))
        self.rows += ddl_rows(self.config, "run", events, self.rows)
        self.position += 1
        lives = incarnations(self.rows, name)
        mine = TableIdentity(*identity(name, table)).parts(name)
        today, incarnation = lives.at(mine, self._at)
        names = dict(zip(CONNECTORS[name].identity_parts, today, strict=True))
        which = TableIdentity(
            names.get("database"), names.get("schema_name"), names["table"], incarnation
        )
        schema = row_schema(name, table, columns)
        text = text_of(schema) + max(
            (turn for turn in lives.turns.get(mine, ()) if turn < self._at), default=""
        )
        version = Version(
            which,
            zlib.crc32(text.encode()),
            read_schema(schema, CONNECTORS[name], {}).columns,
            tuple(sorted(key)),
            (("t", 0, self.offset),),
            position=self._at,
        )
        recorded = [
            row
            for row in self.rows
            if not row.is_from_ddl and lives.today(row.source_table, name) == which
        ]
        by_statement = told(self.rows, name, lives).get((today, incarnation))
        judged = judge_versions([version], recorded, self.config.schema_changes, by_statement)
        landed = LandedSchemas({which: judged}, {which: table}, (), ())
        self.rows += data_rows(self.config, "run", landed)
        return judged

    def told(self, messages: Sequence[Json], table: TableIdentity) -> Sequence[SchemaEvent]:
        """What is read of statements when an event of the table comes."""
        del table
        return [
            parse_event(self._message(document), self.config.connector) for document in messages
        ]

    def step(self, document: Json) -> None:
        """Send a message about a statement."""
        self.offset += 1
        ddl = str(document["ddl"] or "")
        # The messages of one RENAME TABLE have its position.
        self.position += not (ddl.startswith("RENAME TABLE _orders_new"))

    @property
    def _at(self) -> str:
        return f"{self.position:010d}"

    def _message(self, document: Json) -> SchemaMessage:
        self.step(document)
        return SchemaMessage("p", 0, self.offset, self._at, text_of(document))


def messages_of(connector: str, change: Change) -> list[Json]:
    if connector == "postgresql":
        return []
    found = []
    for kind, statement, columns in change.statements:
        what, _, aside = kind.partition(":")
        if aside and connector in SHAPES:
            continue
        table, ddl = aside or change.table, statement
        if connector == "oracle" and ddl.startswith("RENAME TABLE"):
            old, new = ddl.removeprefix("RENAME TABLE ").split(" TO ")
            ddl = f"ALTER TABLE {old} RENAME TO {new}"
        was = change.was.get(table, "") if ddl else ""
        if connector == "ticdc" and was:
            what = "RENAME"
        found.append(
            schema_change(connector, what, table, columns, ddl=ddl, key=change.key, was=was)
        )
    return found


def plain(columns: Sequence[Col]) -> tuple[Col, ...]:
    """Text in the place of enums."""
    return tuple(c.but(kind="text", values=()) if c.kind == "enum" else c for c in columns)


def seen(
    connector: str,
    kind: str,
    mode: str,
    approval: Sequence[str] = (),
    of: type[Source] = Source,
) -> tuple[set[str], str]:
    """The kinds that are recorded of a change, and the verdict about the event behind it."""
    change = CHANGES[kind]
    if connector not in WITH_ENUMS:
        change = replace(change, after=plain(change.after), before=plain(change.before))
        altered_so = [(what, ddl, plain(columns)) for what, ddl, columns in change.statements]
        change = replace(change, statements=altered_so)
    source = of(source_of(connector, mode, approval))
    if change.before:
        create = schema_change(connector, "CREATE", "orders", change.before, snapshot=True)
        first = [] if connector == "postgresql" else [create]
        source.run(first, "orders", change.before, ("id",))
    known = len(source.rows)
    judged = source.run(messages_of(connector, change), change.table, change.after, change.key)
    kinds = {each for row in source.rows[known:] for each in row.change_kinds}
    return kinds, judged[-1].verdict


def test_the_matrix_has_every_kind_of_change() -> None:
    assert set(CHANGES) == set(VERDICTS) == set(get_args(ChangeKind))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("connector", sorted(CONNECTORS))
@pytest.mark.parametrize("kind", CHANGES)
def test_each_change_of_each_connector_has_a_verdict_in_each_mode(kind, connector, mode) -> None:
    kinds, verdict = seen(connector, kind, mode)

    shown, verdicts = expected(connector, kind)
    assert (seen_of(connector, kind, kinds), verdict) == (shown, verdicts[mode])


@pytest.mark.parametrize("connector", sorted(CONNECTORS))
@pytest.mark.parametrize("kind", CHANGES)
def test_what_needs_approval_holds_the_table_right_before_the_change(kind, connector) -> None:
    shown, _ = expected(connector, kind)

    verdicts = {each: seen(connector, kind, "evolve", [each])[1] for each in shown}

    assert verdicts == dict.fromkeys(shown, HOLD)
