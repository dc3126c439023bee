"""History in whole runs: one row for each version, in the source's order, whatever the batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs
from tests.support.told import Source

SOFT = "soft_orders"
ALL = ("op", "from_position", "valid_from", "to_position", "valid_to", "is_current", "offset")


def runs_of(
    spark: SparkSession, settings: Settings, folder, name: str, options: str = "history = true"
) -> Runs:
    # A transaction of which an event comes late would wait for it.
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += f'[transactions]\nconsistent = false\n[tables."public.orders"]\n{options}\n'
    text += f'[tables."public.{SOFT}"]\nhistory = true\ndelete = "soft"\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def orders(name: str = "orders") -> Table:
    columns = [column("id", "int32", optional=False), column("note", "string")]
    return Table(name, [*columns, column("big", "string")])


def order(number: int, note: str, big: str = "large") -> dict[str, object]:
    return {"id": number, "note": note, "big": big}


def versions(runs: Runs, *columns: str, table: str = "orders") -> list[tuple[object, ...]]:
    """Rows of the history by key and place in the source's order."""
    place = ("_version.from_position", "_version.offset")
    found = runs.rows(f"{table}__history", "id", *place, *columns)
    return [(row[0], *row[3:]) for row in found]


def whole(runs: Runs, table: str) -> list[tuple[object, ...]]:
    struct = (f"_version.{name}" for name in ALL)
    return versions(runs, "note", "big", "flag", *struct, table=table)


def live(runs: Runs, table: str) -> list[tuple[object, ...]]:
    rows = runs.rows(table, "id", "note", "big", "_cdc.op AS op")
    return [row[:3] for row in rows if row[3] != "d"]


def tell(source: Source) -> None:
    """Every operation, late and repeated events, a key change, truncates, an added column."""
    pg = source.pg
    source.snapshot(*(order(n, f"n{n}", f"big{n}") for n in range(4)))
    source.cut()
    again = pg.mark()
    source.send(
        ("u", None, order(0, "first", PLACEHOLDER)),
        ("u", None, order(0, "second", PLACEHOLDER)),
        ("d", order(1, ""), None),
        ("u", None, order(3, "before late", PLACEHOLDER)),
    )
    source.send(("u", order(2, "n2"), order(22, "moved", PLACEHOLDER)))
    source.cut()
    pg.redeliver(again, first_without_commit=True)
    source.send(("c", None, order(1, "back")), ("d", order(9, "never seen"), None))
    late = source.take_last(
        lambda: source.update(order(0, "late", "late big"), order(3, "late", PLACEHOLDER))
    )
    source.update(order(0, "after late", PLACEHOLDER), order(3, "after late", PLACEHOLDER))
    source.cut()
    pg.messages.extend(late)
    source.cut()
    source.send(("t", None, None), ("c", None, order(3, "three")))
    source.send(("t", None, None))
    source.cut()
    for head in source.heads:
        head.columns.append(column("flag", "int32", default=7))
    source.send(("c", None, {**order(4, "flagged"), "flag": 1}))
    source.finish()


@pytest.mark.further
def test_versions_are_the_same_whatever_the_batches(
    spark: SparkSession, settings: Settings, tmp_path
):
    found: dict[str, list[list[tuple[object, ...]]]] = {"orders": [], SOFT: []}
    for batched in (False, True):
        name = f"hist_{'many' if batched else 'once'}"
        runs = runs_of(spark, settings, tmp_path, name)
        tell(Source(runs, batched, Postgres(name), (orders(), orders(SOFT))))
        for table, versions_of in found.items():
            versions_of.append(whole(runs, table))
            every = versions(runs, "note", "big", "_version.is_current", table=table)
            current = [row[:3] for row in every if row[3]]
            assert current == live(runs, table) == [(4, "flagged", "large")]
    for once, many in found.values():
        assert once == many
        are_as_told(once)


def are_as_told(once: list[tuple[object, ...]]) -> None:
    assert [row[:5] for row in once] == [
        (0, "n0", "big0", 7, "r"),
        (0, "first", "big0", 7, "u"),
        (0, "second", "big0", 7, "u"),
        (0, "late", "late big", 7, "u"),
        (0, "after late", "late big", 7, "u"),
        (1, "n1", "big1", 7, "r"),
        (1, None, None, None, "d"),
        (1, "back", "large", 7, "c"),
        (2, "n2", "big2", 7, "r"),
        (2, None, None, None, "d"),
        (3, "n3", "big3", 7, "r"),
        (3, "before late", "big3", 7, "u"),
        (3, "late", "big3", 7, "u"),
        (3, "after late", "big3", 7, "u"),
        (3, "three", "large", 7, "c"),
        (4, "flagged", "large", 1, "c"),
        (9, None, None, None, "d"),
        (22, "moved", "big2", 7, "c"),
    ]
    follows_on(once)


def follows_on(rows: list[tuple[object, ...]]) -> None:
    """Each version ends where the next one of its key begins, or with a truncate before it."""
    truncated = {row[7] for row in rows} - {row[5] for row in rows} - {None}
    for row, after in zip(rows, [*rows[1:], (None,) * 11], strict=True):
        op, start, end = row[4], row[5], row[7]
        if op == "d":
            assert end == start
        elif end in truncated:
            assert row[8] is not None
        else:
            assert (end, row[8]) == ((after[5], after[6]) if after[0] == row[0] else (None, None))
        assert row[9] is (end is None)
    assert len(truncated) == 2


def test_a_history_that_begins_later_begins_with_the_rows_that_silver_has(
    spark: SparkSession, settings: Settings, tmp_path
):
    name = "hist_later"
    runs = runs_of(spark, settings, tmp_path, name, "history = false")
    pg, head = Postgres(name), orders()
    pg.snapshot(head, [order(1, "one"), order(2, "two")])
    runs.run(pg)
    later = replace(runs, source=runs_of(spark, settings, tmp_path, name).source)
    pg.transact((head, "u", None, order(1, "uno", PLACEHOLDER)))
    assert later.run(pg)["publish"].status == "succeeded"
    assert versions(later, "note", "big", "_version.is_current") == [
        (1, "one", "large", False),
        (1, "uno", "large", True),
        (2, "two", "large", True),
    ]


@pytest.mark.further
def test_a_cut_has_the_history_that_belongs_to_its_rows(
    spark: SparkSession, settings: Settings, tmp_path
):
    name = "hist_cut"
    runs = runs_of(spark, settings, tmp_path, name)
    pg, head = Postgres(name), orders()
    pg.snapshot(head, [order(1, "one")])
    runs.run(pg)
    pg.transact((head, "u", None, order(1, "uno")))
    staged = runs.run(pg, ("land", "check", "apply"))
    assert staged["apply"].status == "succeeded"
    table = f"silver_{name}.public__orders__history"
    # Staged versions are nowhere to be read before they are published.
    assert versions(runs, "note") == [(1, "one")]
    runs.run(pg)
    cut = runs.ledger.newest_cut(name)
    assert cut is not None
    rows = spark.read.option("versionAsOf", cut.tables[table]).table(f"lakehouse.{table}")
    assert sorted(row["note"] for row in rows.collect()) == ["one", "uno"]
    assert versions(runs, "note") == [(1, "one"), (1, "uno")]
