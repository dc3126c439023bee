"""With `drop_column = "drop"` a column that the source drops leaves silver, and stays away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.spark.tables import full_name, snapshot_name
from lakehouse.steps.runner import execute
from tests.support.binlog import MySql
from tests.support.debezium import Postgres, Row, Table, column
from tests.support.ending_ledger import EndingLedger
from tests.support.runs import Runs, laws_hold

ID, QTY = column("id", "int32", optional=False), column("qty", "int32")
WITH_QTY, BARE = Table("orders", [ID, QTY]), Table("orders", [ID])


class Killed(Exception):
    """The process ends."""


@dataclass
class Orders:
    """The table and what its source does to it."""

    runs: Runs

    @property
    def name(self) -> str:
        return f"silver_{self.runs.source.name}.public__orders"

    def columns(self, ending: str = "") -> list[str]:
        return self.runs.spark.table(full_name(self.name + ending)).columns

    def published(self) -> tuple[int, list[str]]:
        """The table's snapshot in the newest cut, and its columns."""
        cut = self.runs.ledger.newest_cut(self.runs.source.name)
        assert cut is not None
        snapshot = cut.tables[self.name]
        return snapshot, self.runs.spark.table(snapshot_name(self.name, snapshot)).columns

    def field_id(self, name: str) -> int:
        return self.runs.ledger.catalog.load_table(self.name).schema().find_field(name).field_id


def open_orders(
    spark: SparkSession, settings: Settings, folder: Path, name: str, connector: str
) -> Orders:
    text = (
        f'connector = "{connector}"\ntopic_prefix = "{name}"\n'
        '[schema_changes]\ndrop_column = "drop"\n[tables."public.orders"]\nhistory = true\n'
    )
    return Orders(Runs(spark, settings, folder, parse_source(text, name)))


def order(number: int, *qty: int) -> Row:
    return {"id": number} | ({"qty": qty[0]} if qty else {})


@pytest.mark.further
def test_a_dropped_column_goes_also_after_a_kill_and_comes_back_as_another_one(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    orders = open_orders(spark, settings, tmp_path, "drops", "mysql")
    runs, db = orders.runs, MySql("drops")
    db.define(WITH_QTY, "CREATE")
    start = db.mark()
    db.commit((WITH_QTY, "c", None, order(1, 10)), (WITH_QTY, "c", None, order(2, 20)))
    behind = db.mark()
    runs.run(db)
    first, field = orders.published()[0], orders.field_id("qty")

    db.define(BARE, "ALTER", "DROP COLUMN qty")
    archive = db.archive(tmp_path / "dropped")
    context = runs.context(archive)

    def end() -> None:
        raise Killed

    for step in ("land", "check", "apply", "validate"):
        execute(step, context)
    assert "qty" in orders.columns(), "before publish nothing goes"
    dying = EndingLedger(settings, "quality.cuts", 1, end)
    with pytest.raises(Killed):
        execute("publish", replace(context, ledger=dying))
    assert "qty" in orders.columns(), "the kill came right behind the intent"

    # The connector starts again before the statement, with its older events.
    db.redeliver(start, behind, first_without_commit=False)
    db.commit((BARE, "u", order(1), order(1)), (BARE, "c", None, order(3)))
    outcomes = runs.run(db)
    assert laws_hold(outcomes["apply"])
    assert outcomes["validate"].detail["verdict"] == "passed"
    assert [set(orders.columns(ending)) & {"qty"} for ending in ("", "__history")] == [set()] * 2
    assert "qty" not in orders.published()[1]
    old = spark.table(snapshot_name(orders.name, first))
    assert sorted(row["qty"] for row in old.collect()) == [10, 20], "an older cut has it still"

    db.define(WITH_QTY, "ALTER", "ADD COLUMN qty INT")
    db.commit((WITH_QTY, "u", order(3, 0), order(3, 30)))
    assert laws_hold(runs.run(db)["apply"])
    assert runs.rows("orders", "id", "coalesce(qty, 0)") == [(1, 0), (2, 0), (3, 30)]
    assert orders.field_id("qty") != field
    assert orders.columns() == ["id", "_cdc", "qty"]


@pytest.mark.parametrize("cuts", [pytest.param("each", marks=pytest.mark.further), "at once"])
def test_without_statements_data_events_tell_it(
    spark: SparkSession, settings: Settings, tmp_path: Path, cuts: str
) -> None:
    name = f"drops_{cuts.replace(' ', '_')}"
    orders = open_orders(spark, settings, tmp_path, name, "postgresql")
    pg = Postgres(name)
    pg.snapshot(WITH_QTY, [order(1, 10), order(2, 20)])
    if cuts == "each":
        orders.runs.run(pg)
    pg.transact((BARE, "u", None, order(1)))
    assert laws_hold(orders.runs.run(pg)["apply"])

    assert orders.columns() == ["id", "_cdc"]
    assert orders.published()[1] == ["id", "_cdc"]
    assert orders.runs.rows("orders", "id", "_cdc.op") == [(1, "u"), (2, "r")]
