"""Rows that a repair took out stay out of tables that are made again, until they are sent again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.spark import tables
from lakehouse.steps.context import StepOutcome
from tests.support.backfills import backfill, between
from tests.support.debezium import Postgres, Table, column
from tests.support.rebuilds import contents, rebuild, silver
from tests.support.removals import take_out
from tests.support.runs import Runs, laws_hold

TOML = 'connector = "postgresql"\ntopic_prefix = "{0}"\n[tables."public.orders"]\n{1}\n'
TOO_LARGE = "3000000000"
ORDERS = Table(
    "orders",
    [column("id", "int32", optional=False), column("n", "string"), column("note", "string")],
)


def open_source(
    spark: SparkSession, settings: Settings, folder: Path, name: str, options: str
) -> Runs:
    return Runs(spark, settings, folder, parse_source(TOML.format(name, options), name))


def order(number: int, note: str, n: str = "1") -> dict[str, object]:
    return {"id": number, "n": n, "note": note}


def succeed(outcomes: dict[str, StepOutcome]) -> dict[str, StepOutcome]:
    told = [f"{outcome.status}: {outcome.message}" for outcome in outcomes.values()]
    assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * len(told), told
    return outcomes


def live(runs: Runs) -> list[object]:
    rows = runs.rows("orders", "id", "_cdc.op")
    return [number for number, op in rows if op != "d"]


@pytest.mark.parametrize("delete", [pytest.param("hard", marks=pytest.mark.further), "soft"])
def test_what_a_repair_took_out_comes_back_with_a_later_event_alone(
    spark: SparkSession, settings: Settings, tmp_path: Path, delete: str
):
    name = f"removed_{delete}"
    runs = open_source(spark, settings, tmp_path, name, f'delete = "{delete}"')
    pg = Postgres(name)
    pg.snapshot(ORDERS, [order(number, f"n{number}") for number in range(5)])
    pg.transact((ORDERS, "u", None, order(1, "changed")))
    succeed(runs.run(pg))
    removed = succeed(take_out(runs, "orders", 1, 2, 3, 4))
    assert removed["apply"].message.startswith("4 rows of 1 tables went"), removed["apply"].message
    assert live(runs) == [0]
    pg.transact((ORDERS, "c", None, order(3, "back")), (ORDERS, "d", order(4, ""), None))
    succeed(runs.run(pg))
    running = contents(runs)
    assert live(runs) == [0, 3]

    equal = rebuild(runs)

    assert list(equal) == ["apply"], equal["apply"].message
    assert "0 differ, 1 are equal" in equal["apply"].message
    # The end of the source snapshot is in it: the table is made again as a whole.
    same = backfill(runs, between(pg, 0, len(pg.messages)))
    assert "none differ" in same["apply"].message, same["apply"].message
    assert contents(runs) == running

    session = runs.spark.newSession()
    spoilt, where = "note = 'spoilt'", "id IN (0, 3)"
    tables.update_on_branch(session, silver(runs, "orders"), "main", spoilt, {}, where=where)
    mended = succeed(rebuild(runs))
    assert list(mended) == ["apply", "validate", "publish"]
    assert "2 of " in mended["apply"].message, mended["apply"].message
    assert laws_hold(mended["apply"])
    assert contents(runs) == running

    # What the rebuild replaced has the row still; the repair that took it out is newer.
    succeed(take_out(runs, "orders", 0))
    undone = succeed(rebuild(runs, undo=True))
    assert list(undone) == ["apply", "validate", "publish"]
    assert live(runs) == [3]
    assert (3, "spoilt") in runs.rows("orders", "id", "note")


@pytest.mark.further
@pytest.mark.parametrize("way", ["rebuild", "backfill"])
def test_a_newer_event_that_could_not_be_applied_brings_a_removed_row_back(
    spark: SparkSession, settings: Settings, tmp_path: Path, way: str
):
    name = f"removed_bad_{way}"
    narrow = open_source(spark, settings, tmp_path, name, 'columns.n = { type = "int" }')
    pg = Postgres(name)
    pg.snapshot(ORDERS, [order(number, f"n{number}") for number in (1, 2, 3)])
    succeed(narrow.run(pg))
    succeed(take_out(narrow, "orders", 1, 2))
    start = pg.mark()
    pg.transact((ORDERS, "c", None, order(1, "newer", TOO_LARGE)))
    narrow.run(pg)
    assert live(narrow) == [3]
    text = TOML.format(name, 'columns.n = { type = "bigint" }')
    wide = replace(narrow, source=parse_source(text, name))

    if way == "rebuild":
        succeed(rebuild(wide))
    else:
        succeed(backfill(wide, between(pg, start, len(pg.messages))))

    assert wide.rows("orders", "id", "n") == [(1, int(TOO_LARGE)), (3, 1)]
    marks = [(row["kind"], row["key"], row["cause"]) for row in wide.state("orders")]
    assert marks == [("delete", '["2"]', "reconcile")]
