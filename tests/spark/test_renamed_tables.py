"""A table that the source renames carries its rows over, wherever the batches are cut."""

from __future__ import annotations

import json

import pytest

from lakehouse.config import parse_source
from lakehouse.spark.tables import full_name
from tests.support.archives import Message, write_archive
from tests.support.runs import Runs, laws_hold

ROW = [
    {"type": "int32", "optional": False, "field": "id"},
    {"type": "string", "optional": True, "field": "note"},
]
SOURCE = [{"type": "string", "optional": True, "field": name} for name in ("name", "db", "table")]


class MySql:
    """Writes the topics of one connector, one statement after the other.

    Attributes:
        database: Where the tables of what it writes next are.
    """

    def __init__(self, prefix: str) -> None:
        self.prefix, self.messages, self.database = prefix, [], "shop"

    def write(self, table: str, op: str, number: int, note: str | None = None) -> None:
        """A change of one row."""
        row = {"id": number, "note": note}
        images = {"before": None if op == "c" else row, "after": None if op == "d" else row}
        value = {
            "schema": _schema(f"{self.database}.{table}"),
            "payload": {**images, "op": op, **self._source(table)},
        }
        key = {"schema": {"type": "struct", "fields": ROW[:1]}, "payload": {"id": number}}
        self._send(f"{self.prefix}.{self.database}.{table}", key, value)

    def execute(self, ddl: str, kind: str, table: str) -> None:
        """A statement, with the table as it is afterwards."""
        columns = [
            {"name": "id", "typeName": "INT", "optional": False},
            {"name": "note", "typeName": "VARCHAR", "length": 20, "optional": True},
        ]
        after = None if kind == "DROP" else {"primaryKeyColumnNames": ["id"], "columns": columns}
        change = {"type": kind, "id": f'"{self.database}"."{table}"', "table": after}
        payload = {"databaseName": self.database, "ddl": ddl, "tableChanges": [change]}
        self._send(self.prefix, {}, {"payload": {**payload, **self._source(table)}})

    def _source(self, table: str) -> dict[str, object]:
        names = {"connector": "mysql", "name": self.prefix, "db": self.database, "table": table}
        place = {"file": "binlog.000001", "pos": 1000 + 10 * len(self.messages), "row": 0}
        return {"source": {**names, **place, "snapshot": "false", "ts_ms": 1_700_000_000_000}}

    def _send(self, topic: str, key: object, value: object) -> None:
        offset = sum(message.topic == topic for message in self.messages)
        content = json.dumps(value).encode()
        self.messages.append(Message(topic, 0, offset, key=json.dumps(key).encode(), value=content))


def _schema(table: str) -> dict[str, object]:
    images = [
        {"type": "struct", "fields": ROW, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    source = {"type": "struct", "fields": SOURCE, "field": "source"}
    return {"type": "struct", "fields": [*images, source], "name": f"{table}.Envelope"}


@pytest.mark.parametrize("cuts", [pytest.param((), marks=pytest.mark.further), (4, 7)])
def test_rows_follow_their_table_and_a_new_one_may_have_its_name(spark, settings, tmp_path, cuts):
    name = f"moved_{'_'.join(map(str, cuts))}"
    runs = Runs(
        spark,
        settings,
        tmp_path,
        parse_source(f'connector = "mysql"\ntopic_prefix = "{name}"', name),
    )
    source = MySql(name)
    source.execute("CREATE TABLE orders (id int, note varchar(20))", "CREATE", "orders")
    source.write("orders", "c", 1, "one")
    source.write("orders", "c", 2, "two")
    source.execute("RENAME TABLE `shop`.`orders` TO sales", "ALTER", "sales")
    source.write("sales", "u", 1, "changed")
    source.write("sales", "d", 2)
    source.write("sales", "c", 3, "three")
    source.execute("CREATE TABLE orders (id int, note varchar(20))", "CREATE", "orders")
    source.write("orders", "c", 1, "of the new table")
    source.execute("ALTER TABLE sales RENAME TO deals", "ALTER", "deals")

    for count in (*cuts, len(source.messages)):
        archive = write_archive(tmp_path / f"first_{count}", source.messages[:count])
        outcomes = runs.steps(archive)
        assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
        assert laws_hold(outcomes["apply"])

    namespace = f"silver_{name}"
    names = {row.tableName for row in spark.sql(f"SHOW TABLES IN lakehouse.{namespace}").collect()}
    assert {table for table in names if not table.endswith("__state")} == {
        "shop__deals",
        "shop__orders",
    }
    found = {
        table: sorted(tuple(row) for row in spark.table(full_name(table)).drop("_cdc").collect())
        for table in (f"{namespace}.shop__deals", f"{namespace}.shop__orders")
    }
    assert found == {
        f"{namespace}.shop__deals": [(1, "changed"), (3, "three")],
        f"{namespace}.shop__orders": [(1, "of the new table")],
    }


@pytest.mark.further
@pytest.mark.parametrize("cuts", [(), (4,)])
def test_rows_follow_their_table_into_another_database(spark, settings, tmp_path, cuts):
    name = f"elsewhere_{len(cuts)}"
    config = parse_source(f'connector = "mysql"\ntopic_prefix = "{name}"', name)
    runs, source = Runs(spark, settings, tmp_path, config), MySql(name)
    source.execute("CREATE TABLE moved (id int, note varchar(20))", "CREATE", "moved")
    source.write("moved", "c", 1, "one")
    source.write("moved", "c", 2, "two")
    source.write("moved", "u", 1, "newer")
    source.database = "e"
    source.execute("RENAME TABLE shop.moved TO e.moved", "ALTER", "moved")
    source.write("moved", "u", 2, "in e")

    for count in (*cuts, len(source.messages)):
        runs.steps(write_archive(tmp_path / f"first_{count}", source.messages[:count]))

    found = spark.table(full_name(f"silver_{name}.e__moved")).select("id", "note").collect()
    assert sorted(tuple(row) for row in found) == [(1, "newer"), (2, "in e")]
    assert not spark.catalog.tableExists(full_name(f"silver_{name}.shop__moved"))
