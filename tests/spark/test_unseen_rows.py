"""What events say of rows that the source removed, renamed or changed without telling anybody."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.spark.tables import full_name
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
RENAMED = Table("renamed", ORDERS.columns)


@pytest.fixture
def runs(spark: SparkSession, settings: Settings, tmp_path) -> Runs:
    return open_runs(spark, settings, tmp_path, "unseen")


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def told(runs: Runs, source: Postgres) -> str:
    outcomes = runs.run(source)
    assert [each.status for each in outcomes.values()] == ["succeeded"] * 5
    assert laws_hold(outcomes["apply"])
    return " | ".join(outcomes["apply"].detail["findings"])


def test_rows_that_went_or_stayed_without_an_event_are_told_of(runs: Runs):
    source = Postgres(runs.source.name)
    source.snapshot(ORDERS, [row(1, "a"), row(2, "a"), row(3, "a")])
    source.transact(
        (ORDERS, "u", row(1, "a"), row(1, "b")),
        (ORDERS, "d", row(2, "a"), None),
        (ORDERS, "c", None, row(2, "b")),
        (ORDERS, "u", row(3, "a"), row(4, "a")),
    )
    source.read_increment(ORDERS, row(5, "a"))
    source.transact((ORDERS, "u", row(5, "a"), row(5, "b")), (ORDERS, "c", None, row(6, "a")))
    assert told(runs, source) == ""

    # PostgreSQL tells nothing of a table that is dropped and created again, or renamed.
    source.transact((ORDERS, "c", None, row(1, "new")), (ORDERS, "u", None, row(6, "b")))
    source.transact((RENAMED, "u", None, row(7, "b")), (RENAMED, "c", None, row(8, "b")))
    found = told(runs, source)
    assert "public__orders: 1 rows were created that were there" in found
    assert "public__renamed: 1 rows changed that had never come" in found
    assert "orders: 1 rows changed" not in found
    assert "renamed: 1 rows were created" not in found

    runs.spark.sql(f"DELETE FROM {full_name('silver_unseen.public__orders')} WHERE id = 5")
    source.transact((ORDERS, "u", None, row(6, "c")))
    assert "public__orders: another program wrote to main" in told(runs, source)
    source.transact((ORDERS, "u", None, row(6, "d")))
    assert told(runs, source) == ""
