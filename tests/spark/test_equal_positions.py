"""Events of one key at one position: MariaDB gives a transaction's events the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.spark.tables import full_name
from tests.support.debezium import PLACEHOLDER, Postgres, Row, Table, column
from tests.support.runs import Runs, laws_hold

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])


@dataclass
class MariaDb(Postgres):
    """Envelopes with MariaDB's source block; a transaction's events share the position."""

    position: int = 100

    def _source(self, table: Table, marker: str | None, _: list[str | None]) -> Row:
        return {
            "version": "3.5.0.Final",
            "connector": "mariadb",
            "name": self.prefix,
            "ts_ms": self.clock_ms,
            "snapshot": marker,
            "db": "public",
            "table": table.name,
            "file": "binlog.000001",
            "pos": self.position,
            "row": 0,
        }


def open_source(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Runs:
    """A source whose transactions may be applied in parts."""
    text = f'connector = "mariadb"\ntopic_prefix = "{name}"\n[transactions]\nconsistent = false\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def name_of_first(runs: Runs) -> str | None:
    table = runs.spark.table(full_name(f"silver_{runs.source.name}.public__orders"))
    return table.where("id = 1").collect()[0]["name"]


def update(name: str) -> tuple[Table, str, Row | None, Mapping[str, object]]:
    return ORDERS, "u", None, {"id": 1, "name": name}


@pytest.mark.further
def test_the_later_event_counts_and_a_redelivered_one_does_not(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs = open_source(spark, settings, tmp_path, "equalpos")
    source = MariaDb("equalpos")
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}, {"id": 2, "name": "z"}])
    source.position = 200
    first = source.mark()
    source.transact(update("b"), update("c"), end=False)
    runs.run(source)
    assert name_of_first(runs) == "c"

    source.transact(update("d"))  # The rest of the same transaction, landed by the next run.
    runs.run(source)
    assert name_of_first(runs) == "d"

    source.redeliver(first, first_without_commit=False)
    outcomes = runs.run(source)
    assert laws_hold(outcomes["apply"])
    law = outcomes["apply"].counts["equalpos.public.orders[0]"]
    assert isinstance(law, Mapping)
    assert (law["applied"], law["superseded"]) == (0, 3)
    assert name_of_first(runs) == "d"


def test_back_and_forth_inside_a_transaction_is_no_redelivery(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs = open_source(spark, settings, tmp_path, "equalback")
    source = MariaDb("equalback")
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}])
    source.position = 200
    source.transact(update("b"), update("c"), update("b"))
    runs.run(source)
    assert name_of_first(runs) == "b"


@pytest.mark.further
def test_a_large_value_that_moves_is_that_of_the_row_which_had_the_key_last(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs = open_source(spark, settings, tmp_path, "equalmoves")
    source = MariaDb("equalmoves")
    source.snapshot(ORDERS, [{"id": 2, "name": "large"}])
    source.position = 200
    runs.run(source)
    another = {"id": 2, "name": None}
    source.transact(
        (ORDERS, "d", {"id": 2, "name": "large"}, None),
        (ORDERS, "c", None, another),
        (ORDERS, "u", another, {"id": 1, "name": PLACEHOLDER}),
    )
    outcomes = runs.run(source)
    assert laws_hold(outcomes["apply"])
    assert name_of_first(runs) is None
