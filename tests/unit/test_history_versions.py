"""Schema versions from the internal schema history alone: told as by a schema change topic.

Each run reads the whole history again, as `check` does; the records are in wire form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from lakehouse.names import TableIdentity
from lakehouse.plan.records import EVOLVE, HOLD, SchemaVersionRow
from lakehouse.quality.schemas.captured import captured_tables, is_new_table, of_captured
from lakehouse.quality.schemas.ddl import SchemaEvent, without_copies
from lakehouse.quality.schemas.history_records import HistoryMessage, parse_history
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.groups import group_of
from tests.support.history_messages import CONNECTORS, position_of, record, text_of
from tests.support.schema_messages import STATEMENTS, Col, Json, schema_change
from tests.support.schema_verdicts import MODES, expected, seen_of
from tests.unit.test_schema_matrix import (
    BEFORE,
    CHANGES,
    ID,
    NAME,
    QTY,
    WIDE,
    Source,
    seen,
    source_of,
)

AGE = Col("age", "int")


@dataclass
class Recorded(Source):
    """A source without a schema change topic, whose history is read from its first record on."""

    history: list[HistoryMessage] = field(default_factory=list)

    def told(self, messages: Sequence[Json], table: TableIdentity) -> Sequence[SchemaEvent]:
        for document in messages:
            self.step(document)
            self.write(document)
        return self.read(table)

    def write(
        self, document: Json, *, was: Mapping[str, str] | None = None, snapshot=False
    ) -> None:
        """Add a record of a statement where the source stands."""
        connector = self.config.connector
        text = text_of(record(connector, document, self.position, was=was, snapshot=snapshot))
        self.add(text)

    def add(self, text: str | None) -> None:
        """Add a record as it is."""
        self.history.append(HistoryMessage("history", 0, len(self.history), False, text))

    def read(self, *tables: TableIdentity) -> Sequence[SchemaEvent]:
        """What tables of which a batch has events are told of."""
        connector = self.config.connector
        history = parse_history("history", self.history, connector, is_whole=True)
        groups = [group_of(identity=table) for table in tables]
        captured = captured_tables(self.config, groups, self.rows)
        return of_captured(without_copies(history.events), captured, connector)

    def fold(self, *tables: TableIdentity) -> tuple[SchemaVersionRow, ...]:
        """The versions that are new with a run."""
        rows = ddl_rows(self.config, "run", self.read(*tables), self.rows)
        self.rows += rows
        return rows

    @property
    def _at(self) -> str:
        return position_of(self.config.connector, self.position)


def table(connector: str, name: str = "orders") -> TableIdentity:
    schema = None if connector in ("mariadb", "mysql") else "app"
    return TableIdentity("shop", schema, name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize("kind", CHANGES)
def test_each_change_that_the_history_tells_has_the_verdict_of_the_public_one(
    kind, connector, mode
) -> None:
    kinds, verdict = seen(connector, kind, mode, of=Recorded)

    shown, verdicts = expected(connector, kind)
    assert (seen_of(connector, kind, kinds), verdict) == (shown, verdicts[mode])


def opened(connector: str, mode: str = "evolve") -> Recorded:
    """A source whose connector has read the table `orders` in its first source snapshot."""
    source = Recorded(source_of(connector, mode), position=10)
    drop = schema_change(connector, "DROP", "orders", (), ddl="DROP TABLE IF EXISTS orders")
    source.write(drop, snapshot=True)
    created = schema_change(connector, "CREATE", "orders", BEFORE, ddl="…", snapshot=True)
    source.write(created, snapshot=True)
    return source


def alter(source: Recorded, number: int, columns: Sequence[Col], clause: str, **more) -> None:
    """A statement that the connector reads where its log stands then."""
    source.position, name = number, more.pop("named", "orders")
    ddl = f"ALTER TABLE {name} {clause}"
    source.write(schema_change(source.config.connector, "ALTER", name, columns, ddl=ddl), **more)


def told(rows: Sequence[SchemaVersionRow]) -> list[tuple[object, ...]]:
    return [
        (row.source_table.table, row.position, row.change_kinds, [c["name"] for c in columns(row)])
        for row in rows
    ]


def columns(row: SchemaVersionRow) -> list[dict]:
    found: list[dict] = json.loads(row.columns)
    return found


@pytest.mark.parametrize("connector", CONNECTORS)
def test_the_first_and_every_later_version_is_told_with_its_position(connector) -> None:
    source = opened(connector)
    first = source.fold(table(connector))
    alter(source, 20, (ID, QTY, NAME, AGE), "ADD COLUMN age INT")
    second = source.fold(table(connector))
    # While nothing ran:
    alter(source, 30, (ID, QTY, AGE), "DROP COLUMN name")
    alter(source, 40, (ID, WIDE[1], AGE), "MODIFY qty BIGINT")
    later = source.fold(table(connector))

    assert told((*first, *second, *later)) == [
        (
            "orders",
            position_of(connector, 10, snapshot=True),
            ("create_table",),
            ["id", "qty", "name"],
        ),
        ("orders", position_of(connector, 20), ("add_column",), ["id", "qty", "name", "age"]),
        ("orders", position_of(connector, 30), ("drop_column",), ["id", "qty", "age"]),
        ("orders", position_of(connector, 40), ("widen_type",), ["id", "qty", "age"]),
    ]
    sent = "ALTER TABLE orders MODIFY qty BIGINT" if connector in STATEMENTS else "N/A"
    assert (later[-1].ddl, later[-1].topic, later[-1].offset) == (sent, "history", 4)
    assert {row.verdict for row in source.rows} == {EVOLVE}
    assert source.fold(table(connector)) == ()


@pytest.mark.parametrize("connector", sorted({*CONNECTORS} & {*STATEMENTS}))
def test_columns_and_tables_that_are_renamed_are_the_same_ones(connector) -> None:
    source = opened(connector)
    amount = (ID, Col("amount", "int"), NAME)
    alter(source, 20, amount, "RENAME COLUMN qty TO amount")
    # No parser reads it, but the connector knows what the table was.
    alter(source, 30, amount, "…", named="sales", was={"sales": "orders"})
    rows = source.fold(table(connector, "sales"))

    assert [row.change_kinds for row in rows] == [
        ("create_table",),
        ("rename_column",),
        ("rename_table",),
    ]
    assert [c["was"] for c in columns(rows[1])] == ["", "qty", ""]
    lives = incarnations(rows, connector)
    mine = (table(connector, "sales").parts(connector), 0)
    assert lives.at(table(connector).parts(connector), position_of(connector, 25)) == mine


@pytest.mark.parametrize("connector", CONNECTORS)
def test_what_a_recovered_history_says_again_is_no_version(connector) -> None:
    source = opened(connector)
    alter(source, 20, (ID, QTY, NAME, AGE), "ADD COLUMN age INT")
    alter(source, 30, (ID, QTY, AGE), "DROP COLUMN name")
    rows = source.fold(table(connector))
    # The connector starts again behind the first statement; then its history is made anew.
    for message in source.history[2:]:
        source.add(message.document)
    source.position = 50
    for kind, left in (("DROP", ()), ("CREATE", (ID, QTY, AGE))):
        again = schema_change(connector, kind, "orders", left, ddl="…", snapshot=True)
        source.write(again, snapshot=True)

    assert len(rows) == 3
    assert source.fold(table(connector)) == ()
    assert told(replace(source, rows=[]).fold(table(connector))) == told(rows)


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_table_that_is_not_captured_has_no_version_until_it_is(connector) -> None:
    source = opened(connector)
    secret = schema_change(connector, "CREATE", "secrets", (ID, NAME), ddl="CREATE TABLE secrets")
    source.position = 20
    source.write(secret)
    alter(source, 30, (ID, NAME, AGE), "ADD COLUMN age INT", named="secrets")
    alter(source, 40, (ID, QTY), "DROP COLUMN name")

    assert {row.source_table.table for row in source.fold(table(connector))} == {"orders"}
    assert told(source.fold(table(connector, "secrets"))) == [
        ("secrets", position_of(connector, 20), ("create_table",), ["id", "name"]),
        ("secrets", position_of(connector, 30), ("add_column",), ["id", "name", "age"]),
    ]


def test_a_table_is_new_once_and_a_message_without_a_schema_brings_none() -> None:
    source = opened("mysql")
    event, truncate = group_of(identity=table("mysql")), group_of(identity=table("mysql", "other"))

    assert is_new_table(source.config, [event], source.rows)
    source.fold(table("mysql"))
    assert not is_new_table(source.config, [event], source.rows)
    assert not is_new_table(source.config, [replace(truncate, fingerprint=None)], source.rows)


def test_a_table_that_takes_the_place_of_a_captured_one_belongs_to_it() -> None:
    source = opened("mysql")
    source.position = 20
    source.write(
        schema_change("mysql", "CREATE", "_orders_gho", WIDE, ddl="CREATE TABLE _orders_gho")
    )
    for name, was, left in (("_orders_del", "orders", BEFORE), ("orders", "_orders_gho", WIDE)):
        ddl = f"RENAME TABLE {was} TO {name}"
        source.position = 30
        source.write(schema_change("mysql", "ALTER", name, left, ddl=ddl), was={name: was})
    rows = source.fold(table("mysql"))

    swapped = [row for row in rows if "swap_table" in row.change_kinds]
    assert [(row.source_table.table, row.change_kinds) for row in swapped] == [
        ("orders", ("swap_table", "widen_type"))
    ]


def test_a_statement_of_another_log_stands_behind_all_of_the_older_one() -> None:
    source = opened("mysql")
    alter(source, 20, (ID, QTY), "DROP COLUMN name")
    source.fold(table("mysql"))
    alter(source, 15, (ID, QTY, AGE), "ADD COLUMN age INT")
    source.history[-1] = replace(source.history[-1], log="~000001|")

    (row,) = source.fold(table("mysql"))

    assert row.position == "~000001|" + position_of("mysql", 15)
    assert row.change_kinds == ("add_column",)


def test_a_statement_that_may_not_be_followed_waits_for_a_person() -> None:
    source = opened("sqlserver", "fail")
    alter(source, 20, (ID, QTY, NAME, AGE), "ADD COLUMN age INT")

    assert [row.verdict for row in source.fold(table("sqlserver"))] == [EVOLVE, HOLD]
