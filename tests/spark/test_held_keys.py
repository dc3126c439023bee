"""Held keys: what a quarantined event leaves on its key, and what heals it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import QUARANTINE
from lakehouse.quality.reports.table_states import list_tables
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs
from tests.support.told import Source

KEPT = "kept"


def runs_of(spark: SparkSession, settings: Settings, folder, name: str) -> Runs:
    # A transaction of which an event comes late would wait for it.
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += "[transactions]\nconsistent = false\n"
    text += f'[tables."public.{KEPT}"]\nhistory = true\ndelete = "soft"\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def orders(name: str = "orders") -> Table:
    columns = [column("id", "int32", optional=False), column("n", "int32")]
    return Table(name, [*columns, column("note", "string"), column("big", "string")])


def order(number: int, note: str, big: str = PLACEHOLDER, n: object = 1) -> dict[str, object]:
    return {"id": number, "n": n, "note": note, "big": big}


def bad(number: int) -> dict[str, object]:
    """An image whose large value is another one than before, and whose number is none."""
    return order(number, "bad", "changed", "none")


def tell(source: Source) -> None:
    """Each key has its own situation; see `ROWS` and `HELD`."""
    pg = source.pg
    source.snapshot(*(order(n, "read", f"big{n}") for n in (1, 2, 3, 4, 5, 6, 7, 10, 13)))
    source.cut()
    again = pg.mark()
    source.update(*(bad(n) for n in (1, 2, 3, 4, 5, 6, 10)))
    source.send(("c", None, bad(8)))
    source.cut()
    source.update(order(1, "partial"), order(4, "partial"), order(7, "kept"), order(8, "partial"))
    source.update(order(2, "full", "new"), order(4, "full", "new"))
    source.send(
        ("d", order(3, ""), None),
        ("u", order(5, "bad"), order(55, "moved")),
        ("u", order(6, "bad"), order(66, "moved", "new")),
        ("u", order(10, "bad"), order(11, "moved")),
        ("u", order(11, "moved"), order(12, "moved again")),
    )
    source.cut()
    late = source.take_last(lambda: source.update(bad(13)))
    source.update(order(13, "after", "new"))
    source.cut()
    source.update(order(4, "later"), order(55, "later"), order(66, "later"))
    source.cut()
    pg.redeliver(again, first_without_commit=True)
    source.cut()
    pg.messages.extend(late)
    source.cut()
    source.update(order(2, "last"), order(13, "later"))
    source.finish()


ROWS = [
    (1, "read", "big1"),
    (2, "last", "new"),
    (4, "later", "new"),
    (7, "kept", "big7"),
    (13, "later", "new"),
    (66, "later", "new"),
]
HELD = {1: 2, 8: 2, 12: 1, 55: 2}
STATE = ("kind", "key", "position", "cause", "source_ts", "partition", "offset")
VERSION = "to_json(struct(_version.*, note, big)) AS version"


def reasons(runs: Runs, table: str) -> list[tuple[int, int, str]]:
    rows = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    mine = [row for row in rows if row.topic.endswith(f".{table}")]
    return sorted((row.partition, row.offset, row.reason) for row in mine)


def held(runs: Runs, table: str = "orders") -> dict[int, int]:
    """Held key → how many quarantined events hold it."""
    keys = [row["key"] for row in runs.state(table) if row["kind"] == "held"]
    return {number: keys.count(f'["{number}"]') for number in sorted(int(k[2:-2]) for k in keys)}


def test_keys_are_held_and_healed_by_position_whatever_the_batches(
    spark: SparkSession, settings: Settings, tmp_path
):
    found: dict[str, list[object]] = {"orders": [], KEPT: []}
    for batched in (False, True):
        name = f"held_{'many' if batched else 'once'}"
        runs = runs_of(spark, settings, tmp_path, name)
        tell(Source(runs, batched, Postgres(name), (orders(), orders(KEPT))))
        for table, states in found.items():
            states.append(state_of(runs, table))
        assert runs.ledger.newest_cut(name).held_keys == len(found) * len(HELD)
    for once, many in found.values():
        assert once == many


def state_of(runs: Runs, table: str) -> tuple[object, ...]:
    """All that a table is in the end, whatever it is called."""
    rows = runs.rows(table, "id", "note", "big", "_cdc.op AS op", "_cdc.position")
    assert [row[:3] for row in rows if row[3] != "d"] == ROWS
    assert held(runs, table) == HELD
    counted = [reason for _, _, reason in reasons(runs, table)]
    # Eight of the nine bad events came twice; what followed on one came twice and counts once.
    assert (counted.count("bad_value"), counted.count("held_key")) == (17, 7)
    versions = runs.rows(f"{table}__history", "id", VERSION) if table == KEPT else []
    state = [tuple(row[field] for field in STATE) for row in runs.state(table)]
    told = [text.replace(runs.source.name, "") for _, text in versions]
    return rows, sorted(state, key=repr), reasons(runs, table), told


@pytest.mark.further
def test_a_truncate_heals_every_key_and_the_cut_counts_what_is_held(
    spark: SparkSession, settings: Settings, tmp_path
):
    runs = runs_of(spark, settings, tmp_path, "held_truncate")
    pg, head, other = Postgres("held_truncate"), orders(), orders("others")
    source = Source(runs, True, pg, (head, other))
    pg.snapshot(head, [order(n, "read", "big") for n in (1, 2)])
    # The first thing that lands of a table is a bad event.
    pg.transact((other, "c", None, bad(1)))
    source.finish()
    assert runs.rows("others", "id") == []
    pg.transact(
        (head, "u", None, bad(1)),
        (other, "c", None, order(2, "good", "big")),
    )
    outcome = source.finish()
    assert "2 keys held by quarantined events" in outcome["apply"].message
    states = list_tables(runs.ledger, runs.source.name, runs.source.connector, None)
    assert [(s.silver.partition("__")[2], s.held_keys) for s in states] == [
        ("orders", 1),
        ("others", 1),
    ]

    # Of the keys that the truncate heals, one is in its batch and one was held before.
    pg.transact((head, "u", None, bad(2)), (head, "t", None, None))
    pg.transact((head, "c", None, order(2, "again", "big")))
    pg.transact((head, "u", None, order(2, "partial")))
    outcome = source.finish()
    assert (held(runs), held(runs, "others")) == ({}, {1: 1})
    assert runs.rows("orders", "id", "note", "big") == [(2, "partial", "big")]
    assert runs.ledger.newest_cut("held_truncate").held_keys == 1
    assert outcome["publish"].counts["held_keys"] == 1
