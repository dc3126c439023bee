"""Rows that a repeated source snapshot did not read: they go, or a finding says why they stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.steps.context import StepOutcome
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold

ID = column("id", "int32", optional=False)
NAME = column("name", "string")
COMPLETE = "[snapshot]\ncomplete = true\n"
# A tenth of these may go.
IDS = range(1, 21)


def orders(name: str = "orders") -> Table:
    return Table(name, [ID, NAME])


def rows(*ids: int, name: str = "a") -> list[dict[str, object]]:
    return [{"id": number, "name": name} for number in ids]


def open_source(
    spark: SparkSession, settings: Settings, folder: Path, name: str, more: str
) -> tuple[Runs, Postgres]:
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n{more}'
    return Runs(spark, settings, folder, parse_source(text, name)), Postgres(name)


def run(runs: Runs, connector: Postgres) -> StepOutcome:
    """One run; what `apply` said."""
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert outcomes["validate"].detail["verdict"] == "passed"
    assert outcomes["publish"].status == "succeeded"
    return outcomes["apply"]


def findings(applied: StepOutcome, table: str) -> list[str]:
    return [each for each in applied.detail["findings"] if f"public__{table}:" in each]


def marks(runs: Runs, table: str) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["key"], row["cause"]) for row in runs.state(table)]


def again(connector: Postgres, table: Table, *ids: int) -> None:
    """A snapshot that starts over while the stream waits."""
    connector.lsn += 100
    connector.snapshot(table, rows(*ids, name="b"))


def test_ghosts_go_where_snapshots_are_complete_and_the_ghosts_few(spark, settings, tmp_path):
    runs, connector = open_source(spark, settings, tmp_path, "swept", COMPLETE)
    few, many, visits = orders("few"), orders("many"), Table("visits", [ID, NAME], key=())
    start = connector.mark()
    for table in (few, many, visits):
        connector.snapshot(table, rows(*IDS))
    connector.transact((few, "u", None, {"id": 7, "name": "late"}))
    first = run(runs, connector)
    assert [findings(first, each) for each in ("few", "many", "visits")] == [[]] * 3

    # 7 was deleted while nothing was captured, of `many` too much to be believed.
    again(connector, few, *(n for n in IDS if n != 7))
    again(connector, many, *range(1, 11))
    again(connector, visits, *(n for n in IDS if n != 7))
    applied = run(runs, connector)
    assert runs.rows("few", "id", "name") == [(n, "b") for n in IDS if n != 7]
    assert "no key" in findings(applied, "visits")[0]
    assert marks(runs, "few") == [("delete", '["7"]', "sweep")]
    assert [n for (n,) in runs.rows("many", "id")] == list(IDS)
    [told] = findings(applied, "many")
    assert all(part in told for part in ("10 rows", "stay", "max_sweep"))
    assert '["7"]' in findings(applied, "few")[0]

    # What is older than the snapshot brings nothing back; what is newer does.
    connector.redeliver(start, first_without_commit=False)
    connector.transact((many, "d", {"id": 20, "name": "a"}, None))
    run(runs, connector)
    assert [n for (n,) in runs.rows("few", "id")] == [n for n in IDS if n != 7]
    assert marks(runs, "many") == [("delete", '["20"]', "delete")]
    connector.transact((few, "c", None, {"id": 7, "name": "new"}))
    run(runs, connector)
    assert (7, "new") in runs.rows("few", "id", "name")


def test_a_snapshot_that_was_interrupted_leaves_no_ghost(spark, settings, tmp_path):
    runs, connector = open_source(spark, settings, tmp_path, "restarted", COMPLETE)
    table = orders()
    connector.snapshot(table, rows(*IDS), end=False)
    again(connector, table, *(n for n in IDS if n not in (3, 4)))
    applied = run(runs, connector)
    assert [n for (n,) in runs.rows("orders", "id")] == [n for n in IDS if n not in (3, 4)]
    assert "and went" in findings(applied, "orders")[0]


@pytest.mark.further
def test_ghosts_stay_with_a_finding_where_a_snapshot_may_be_filtered(spark, settings, tmp_path):
    runs, connector = open_source(spark, settings, tmp_path, "filtered", "")
    table = orders()
    connector.snapshot(table, rows(*IDS))
    run(runs, connector)
    again(connector, table, *(n for n in IDS if n != 7))
    applied = run(runs, connector)
    assert [n for (n,) in runs.rows("orders", "id")] == list(IDS)
    [told] = findings(applied, "orders")
    assert all(part in told for part in ("1 rows", "snapshot.complete", '["7"]'))


@pytest.mark.further
def test_a_snapshot_over_several_runs_sweeps_at_its_end(spark, settings, tmp_path):
    all_of_one = COMPLETE + "max_sweep = 1.0\n"
    runs, connector = open_source(spark, settings, tmp_path, "swept_late", all_of_one)
    table, alone = orders(), orders("alone")
    connector.snapshot(table, rows(*range(1, 11)), end=False)
    connector.snapshot(alone, rows(1, 2))
    run(runs, connector)
    connector.snapshot(table, rows(*range(11, 21)), begin=False)
    connector.transact((table, "u", None, {"id": 7, "name": "late"}))
    assert findings(run(runs, connector), "orders") == []

    # 7 and 17 were deleted while nothing was captured, and of `alone` one of two rows.
    connector.lsn += 100
    connector.snapshot(table, rows(*(n for n in range(1, 11) if n != 7), name="b"), end=False)
    assert findings(run(runs, connector), "orders") == []
    assert (7, "late") in runs.rows("orders", "id", "name")
    connector.snapshot(table, rows(*(n for n in range(11, 21) if n != 17), name="b"), begin=False)
    connector.snapshot(alone, rows(2, name="b"))
    connector.transact((table, "c", None, {"id": 17, "name": "new"}))
    [told] = findings(run(runs, connector), "orders")
    expected = [(n, "new" if n == 17 else "b") for n in IDS if n != 7]
    assert runs.rows("orders", "id", "name") == expected
    assert runs.rows("alone", "id", "name") == [(2, "b")]
    assert all(part in told for part in ("2 rows", "went", '["7"]', '["17"]'))
