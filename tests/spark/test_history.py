"""History in whole runs: one row for each version, in the source's order, whatever the batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold

PLACEHOLDER = "__debezium_unavailable_value"
ALL = ("op", "from_position", "valid_from", "to_position", "valid_to", "is_current", "offset")


def runs_of(
    spark: SparkSession, settings: Settings, folder, name: str, options: str = "history = true"
) -> Runs:
    # A transaction of which an event comes late would wait for it.
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += f'[transactions]\nconsistent = false\n[tables."public.orders"]\n{options}\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def orders() -> Table:
    columns = [column("id", "int32", optional=False), column("note", "string")]
    return Table("orders", [*columns, column("big", "string")])


def order(number: int, note: str, big: str = "large") -> dict[str, object]:
    return {"id": number, "note": note, "big": big}


def versions(runs: Runs, *columns: str) -> list[tuple[object, ...]]:
    """Rows of the history by key and place in the source's order."""
    found = runs.rows(
        "orders__history", "id", "_version.from_position", "_version.offset", *columns
    )
    return [(row[0], *row[3:]) for row in found]


def whole(runs: Runs) -> list[tuple[object, ...]]:
    struct = (f"_version.{name}" for name in ALL)
    return versions(runs, "note", "big", "flag", *struct)


def live(runs: Runs) -> list[tuple[object, ...]]:
    rows = runs.rows("orders", "id", "note", "big", "_cdc.op AS op")
    return [row[:3] for row in rows if row[3] != "d"]


@dataclass
class Source:
    """A source whose history is told in parts, after each of which a run may come."""

    runs: Runs
    batched: bool
    pg: Postgres
    head: Table = field(default_factory=orders)

    def cut(self) -> None:
        if self.batched:
            self.finish()

    def finish(self) -> None:
        outcome = self.runs.run(self.pg)
        assert laws_hold(outcome["apply"])
        assert outcome["validate"].detail["verdict"] == "passed"
        assert outcome["publish"].status == "succeeded"


def tell(source: Source) -> None:
    """Every operation, late and repeated events, a key change, truncates, an added column."""
    pg, head = source.pg, source.head
    pg.snapshot(head, [order(n, f"n{n}", f"big{n}") for n in range(4)])
    source.cut()
    again = pg.mark()
    pg.transact(
        (head, "u", None, order(0, "first", PLACEHOLDER)),
        (head, "u", None, order(0, "second", PLACEHOLDER)),
        (head, "d", order(1, ""), None),
    )
    pg.transact((head, "u", order(2, "n2"), order(22, "moved", PLACEHOLDER)))
    source.cut()
    pg.redeliver(again, first_without_commit=True)
    pg.transact((head, "c", None, order(1, "back")), (head, "d", order(9, "never seen"), None))
    late = take_last(pg, lambda: pg.transact((head, "u", None, order(0, "late", "late big"))))
    pg.transact((head, "u", None, order(0, "after late", PLACEHOLDER)))
    source.cut()
    pg.messages.append(late)
    source.cut()
    pg.transact((head, "t", None, None), (head, "c", None, order(3, "three")))
    pg.transact((head, "t", None, None))
    source.cut()
    head.columns.append(column("flag", "int32", default=7))
    pg.transact((head, "c", None, {**order(4, "flagged"), "flag": 1}))
    source.finish()


def take_last(pg: Postgres, send: Callable[[], None]) -> dict[str, object]:
    """What was sent last, to be sent later through another topic partition."""
    before = len(pg.messages)
    send()
    index = next(i for i in range(before, len(pg.messages)) if '"op"' in str(pg.messages[i]))
    return {**pg.messages.pop(index), "partition": 1, "offset": 0}


@pytest.mark.parametrize("delete", ["hard", "soft"])
def test_versions_are_the_same_whatever_the_batches(
    spark: SparkSession, settings: Settings, tmp_path, delete: str
):
    found = []
    for batched in (False, True):
        name = f"hist_{delete}_{'many' if batched else 'once'}"
        options = f'history = true\ndelete = "{delete}"'
        runs = runs_of(spark, settings, tmp_path, name, options)
        tell(Source(runs, batched, Postgres(name)))
        found.append(whole(runs))
        every = versions(runs, "note", "big", "_version.is_current")
        assert [row[:3] for row in every if row[3]] == live(runs) == [(4, "flagged", "large")]
    once, many = found
    assert once == many
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
