"""Soft delete: a deleted row stays, marked, in whole runs; what follows never doubles it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.steps.context import StepOutcome
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ALL = ("id", "note", "_cdc.op AS op")


@pytest.fixture
def runs(spark: SparkSession, settings: Settings, tmp_path, request) -> Runs:
    return soft_runs(spark, settings, tmp_path, request.function.__name__[5:45])


def soft_runs(spark: SparkSession, settings: Settings, folder, name: str) -> Runs:
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[tables."public.orders"]\ndelete = "soft"\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def orders() -> Table:
    return Table("orders", [column("id", "int32", optional=False), column("note", "string")])


def order(number: int, note: str | None) -> dict[str, object]:
    return {"id": number, "note": note}


def rows_published(outcome: dict[str, StepOutcome]) -> tuple[str, str]:
    return outcome["validate"].detail["verdict"], outcome["publish"].status


def test_a_deleted_row_stays_marked_until_its_key_comes_again(runs: Runs):
    pg, head = Postgres(runs.source.name), orders()
    pg.snapshot(head, [order(n, f"n{n}") for n in range(4)])
    runs.run(pg)
    again = pg.mark()
    pg.transact(
        (head, "u", None, order(0, "last")),
        (head, "d", order(0, None), None),
        (head, "d", order(1, None), None),
        (head, "u", order(2, "n2"), order(22, "moved")),
        (head, "d", order(9, None), None),
    )
    deleted = runs.run(pg)
    assert laws_hold(deleted["apply"])
    assert rows_published(deleted) == ("passed", "succeeded")
    marked = [(0, "last", "d"), (1, "n1", "d"), (2, "n2", "d"), (3, "n3", "r"), (22, "moved", "c")]
    assert runs.rows("orders", *ALL) == marked
    # Of a row that was never seen nothing can stay but its mark.
    assert [(row["kind"], row["key"]) for row in runs.state("orders")] == [("delete", '["9"]')]

    pg.redeliver(again, first_without_commit=True)
    assert laws_hold(runs.run(pg)["apply"])
    assert runs.rows("orders", *ALL) == marked

    pg.transact((head, "c", None, order(1, "back")), (head, "c", None, order(9, "nine")))
    pg.transact((head, "d", order(0, None), None))
    back = runs.run(pg)
    assert rows_published(back) == ("passed", "succeeded")
    marked[1] = (1, "back", "c")
    assert runs.rows("orders", *ALL) == sorted([*marked, (9, "nine", "c")])
    assert runs.state("orders") == []


@pytest.mark.further
def test_marked_rows_are_the_same_whatever_the_batches(
    spark: SparkSession, settings: Settings, tmp_path
):
    """Truncates, deletes before and after them, and a column that comes with a default."""
    histories = []
    for name, batched in (("soft_once", False), ("soft_many", True)):
        runs, pg, head = soft_runs(spark, settings, tmp_path, name), Postgres(name), orders()

        def cut(runs=runs, pg=pg, batched=batched):
            if batched:
                assert rows_published(runs.run(pg)) == ("passed", "succeeded")

        pg.snapshot(head, [order(n, f"n{n}") for n in range(5)])
        cut()
        pg.transact((head, "d", order(1, None), None))
        pg.transact((head, "t", None, None), (head, "c", None, order(2, "after")))
        cut()
        pg.transact((head, "t", None, None), (head, "c", None, order(3, "again")))
        pg.transact((head, "c", None, order(7, "short")), (head, "d", order(7, None), None))
        cut()
        head.columns.append(column("flag", "int32", default=7))
        pg.transact((head, "c", None, {**order(8, "flagged"), "flag": 1}))
        pg.transact((head, "d", {**order(3, None), "flag": None}, None))
        outcome = runs.run(pg)
        assert rows_published(outcome) == ("passed", "succeeded")
        histories.append(
            runs.rows("orders", "id", "note", "flag", "_cdc.op", "_cdc.position", "_cdc.offset")
        )
    once, many = histories
    assert once == many
    found = {row[0]: row[1:4] for row in once}
    assert found == {
        0: ("n0", 7, "d"),
        1: ("n1", 7, "d"),
        2: ("after", 7, "d"),
        3: ("again", 7, "d"),
        4: ("n4", 7, "d"),
        7: ("short", 7, "d"),
        8: ("flagged", 1, "c"),
    }
    # Each row ended once: with its own delete event, or with the first truncate behind it.
    ends = {row[0]: row[4] for row in once}
    assert ends[1] < ends[0] == ends[4] < ends[2] < ends[7] < ends[3]


@pytest.mark.further
def test_an_unchanged_value_is_never_taken_from_a_row_that_was_deleted(runs: Runs):
    pg, head = Postgres(runs.source.name), orders()
    pg.snapshot(head, [order(1, "old")])
    pg.transact((head, "d", order(1, None), None))
    runs.run(pg)
    pg.transact((head, "c", None, order(1, PLACEHOLDER)))
    runs.run(pg)
    assert runs.rows("orders", "id", "note IS NULL", "_cdc.op") == [(1, True, "c")]


@pytest.mark.further
def test_a_table_that_became_soft_stays_so(runs: Runs):
    pg, head = Postgres(runs.source.name), orders()
    hard = open_runs(runs.spark, runs.settings, runs.folder, runs.source.name)
    pg.snapshot(head, [order(1, "one"), order(2, "two")])
    hard.run(pg)
    pg.transact((head, "d", order(1, None), None))
    runs.run(pg)
    assert runs.rows("orders", *ALL) == [(1, "one", "d"), (2, "two", "r")]

    pg.transact((head, "d", order(2, None), None))
    (excluded,) = hard.run(pg)["publish"].detail["excluded"].values()
    assert "has left marked rows" in excluded["reason"]
    runs.run(pg)
    assert runs.rows("orders", *ALL) == [(1, "one", "d"), (2, "two", "d")]


def test_a_table_without_a_key_cannot_keep_deleted_rows(runs: Runs):
    pg = Postgres(runs.source.name)
    pg.transact((Table("orders", orders().columns, key=()), "c", None, order(1, "one")))
    outcome = runs.run(pg)
    assert laws_hold(outcome["apply"])
    excluded = outcome["publish"].detail["excluded"]
    assert "needs a key" in excluded[f"silver_{runs.source.name}.public__orders"]["reason"]
