"""What events say of rows that the source removed, renamed or changed without telling anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.inspection.tables import read_all
from lakehouse.plan.doctor.tables import judge_tables
from lakehouse.plan.records import STEPS
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

RENAMED_TABLE = "table silver_strayed.public__renamed"
ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
RENAMED = Table("renamed", ORDERS.columns)


@pytest.fixture
def runs(spark: SparkSession, settings: Settings, tmp_path: Path) -> Runs:
    return open_runs(spark, settings, tmp_path, "unseen")


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def told(runs: Runs, source: Postgres) -> str:
    outcomes = runs.run(source)
    assert [each.status for each in outcomes.values()] == ["succeeded"] * 5
    assert laws_hold(outcomes["apply"])
    return findings_of(outcomes)


def findings_of(outcomes: Mapping[str, StepOutcome]) -> str:
    return " | ".join(outcomes["apply"].detail["findings"])


def doctored(runs: Runs) -> list[str]:
    """The subjects of which the doctor finds a promise broken."""
    return [
        each.subject for each in judge_tables(read_all(runs.source, runs.ledger), runs.source.name)
    ]


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


@pytest.mark.further
def test_rows_that_another_program_wrote_are_told_of(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs = open_runs(spark, settings, tmp_path, "strayed")
    source, table = Postgres("strayed"), "silver_strayed.public__orders"
    source.snapshot(ORDERS, [row(5, "b"), row(6, "b")])
    source.snapshot(RENAMED, [row(1, "a")])
    runs.run(source)
    assert doctored(runs) == []
    runs.spark.sql(f"DELETE FROM {full_name(table)} WHERE id = 5")
    runs.spark.sql(f"DELETE FROM {full_name('silver_strayed.public__renamed')}")
    # Of the second one no event comes: nobody but the doctor sees it.
    assert doctored(runs) == ["table silver_strayed.public__orders", RENAMED_TABLE]

    source.transact((ORDERS, "u", None, row(6, "c")))
    outcomes = runs.run(source)
    assert "public__orders: another program wrote to main" in findings_of(outcomes)
    assert outcomes["apply"].message.endswith(f"; another program wrote to {table}")
    assert outcomes["apply"].exit_code == 1
    source.transact((ORDERS, "u", None, row(6, "d")))
    assert told(runs, source) == ""
    assert doctored(runs) == [RENAMED_TABLE]

    rebuild = replace(runs.context(), rebuild=Rebuild(("public.renamed",)))
    assert [execute(step, rebuild).status for step in STEPS[2:]] == ["succeeded"] * 3
    assert doctored(runs) == []
