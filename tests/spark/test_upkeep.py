"""Upkeep by others between two steps: compaction and expiry, which change no row.

`main` of a silver table then has a history of its own; what was staged before must still be
published, and what was published must stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import STEPS
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres, Table, column
from tests.support.ending_ledger import EndingLedger
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
FIRST = [(1, "a"), (2, "b"), (3, "c")]
SECOND = [(1, "a"), (2, "B"), (4, "d")]


class Stopped(Exception):
    """The run ends where a killed one would."""


def stop() -> None:
    raise Stopped


def begin(
    spark: SparkSession, settings: Settings, folder: Path, name: str
) -> tuple[Runs, Postgres]:
    """A source with one published cut, and changes that wait."""
    runs, source = open_runs(spark, settings, folder, name), Postgres(name)
    source.snapshot(ORDERS, [{"id": number, "name": text} for number, text in FIRST])
    runs.run(source)
    assert runs.rows("orders", "id", "name") == FIRST
    source.transact(
        (ORDERS, "u", None, {"id": 2, "name": "B"}),
        (ORDERS, "c", None, {"id": 4, "name": "d"}),
        (ORDERS, "d", {"id": 3, "name": "c"}, None),
    )
    return runs, source


def compact(spark: SparkSession, name: str) -> None:
    """Rewrite every file of the source's tables."""
    for table in (f"bronze.{name}", f"silver_{name}.public__orders"):
        spark.sql(
            f"CALL lakehouse.system.rewrite_data_files(table => '{table}', "
            "options => map('rewrite-all', 'true'))"
        )


def expire(spark: SparkSession, name: str) -> None:
    """Expire all snapshots that no branch or tag names."""
    for table in (f"bronze.{name}", f"silver_{name}.public__orders"):
        spark.sql(
            f"CALL lakehouse.system.expire_snapshots(table => '{table}', "
            f"older_than => timestamp '{datetime.now(UTC):%Y-%m-%d %H:%M:%S}', retain_last => 1)"
        )


def assert_succeeded(outcomes: dict[str, StepOutcome]) -> None:
    failed = [outcome.message for outcome in outcomes.values() if outcome.status != "succeeded"]
    assert not failed


def execute_all(context: StepContext, steps: Sequence[str]) -> dict[str, StepOutcome]:
    return {step: execute(step, context) for step in STEPS if step in steps}


@pytest.mark.further
def test_between_any_two_steps_it_changes_nothing(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = begin(spark, settings, tmp_path, "upkeepsteps")
    context = runs.context(source.archive(tmp_path / "second"))
    for step in STEPS:
        outcome = execute(step, context)
        assert outcome.status == "succeeded", outcome.message
        compact(spark, "upkeepsteps")
        expire(spark, "upkeepsteps")
    assert runs.rows("orders", "id", "name") == SECOND

    compact(spark, "upkeepsteps")
    expire(spark, "upkeepsteps")
    source.transact((ORDERS, "d", {"id": 4, "name": "d"}, None))
    outcomes = runs.run(source)
    assert_succeeded(outcomes)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name") == SECOND[:2]


@pytest.mark.further
def test_an_announced_cut_is_finished_after_it(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = begin(spark, settings, tmp_path, "upkeepcut")
    context = replace(
        runs.context(source.archive(tmp_path / "second")),
        ledger=EndingLedger(settings, "quality.cuts", 1, stop),
    )
    with pytest.raises(Stopped):
        execute_all(context, STEPS)
    assert runs.rows("orders", "id", "name") == FIRST
    compact(spark, "upkeepcut")
    expire(spark, "upkeepcut")

    outcomes = runs.run(source)

    assert_succeeded(outcomes)
    assert runs.rows("orders", "id", "name") == SECOND
    published = {cut.cut_id for cut in runs.context().ledger.cuts("upkeepcut")}
    assert published >= {"00000001", "00000002"}


def test_rows_of_another_program_are_not_published_over(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = begin(spark, settings, tmp_path, "upkeepother")
    context = runs.context(source.archive(tmp_path / "second"))
    execute_all(context, STEPS[:-1])
    spark.sql("DELETE FROM lakehouse.silver_upkeepother.public__orders WHERE id = 1")

    refused = execute("publish", context)

    assert (refused.status, refused.exit_code) == ("failed", 5)
    assert "main has rows of another program" in refused.message
    assert [cut.cut_id for cut in context.ledger.cuts("upkeepother")] == ["00000001"] * 2
