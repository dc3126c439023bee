"""Key changes whose halves are landed one after the other, without transaction metadata."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from tests.support.debezium import PLACEHOLDER, Postgres, Row, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

# Their event keys are in topic partitions 0 and 1 by turns.
OLD, NEW, SAME_PARTITION = 1, 2, 3


def table(name: str) -> Table:
    columns = [column("id", "int32", optional=False), column("note", "string")]
    return Table(name, [*columns, column("big", "string")])


def row(number: int, note: str, big: str = PLACEHOLDER) -> dict[str, object]:
    return {"id": number, "note": note, "big": big}


@dataclass
class Oracle(Postgres):
    """Commits at one SCN until it is told another; changes are numbered in their transaction."""

    scn: int = 5000
    begun: tuple[int, int] = (0, 0)

    def _source(self, table: Table, marker: str | None, sequence: list[str | None]) -> Row:
        if self.begun[0] != self.transaction:
            self.begun = self.transaction, self.lsn
        return {
            **super()._source(table, marker, sequence),
            "connector": "oracle",
            "txId": f"{self.transaction:016x}",
            "scn": str(self.scn),
            "commit_scn": str(self.scn),
            "txSeq": 1 + self.lsn - self.begun[1],
            "lsn": None,
        }


GONE_LATE, COME_LATE, BETWEEN = (table(name) for name in ("gone_late", "come_late", "between"))


@pytest.fixture
def runs(spark: SparkSession, settings: Settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    return open_runs(spark, settings, tmp_path, name)


def take(pg: Postgres, topic: Table, op: str) -> list[dict[str, object]]:
    """What a topic partition has from the newest event with `op` on; it is landed later."""
    mine = [m for m in pg.messages if str(m["topic"]).endswith(f".{topic.name}")]
    first = [m for m in mine if f'"op":"{op}"' in str(m["value"])][-1]
    late = [
        m for m in mine if m["partition"] == first["partition"] and m["offset"] >= first["offset"]
    ]
    pg.messages = [m for m in pg.messages if m not in late]
    return late


def test_neither_half_is_applied_before_the_other_is_landed(runs: Runs):
    pg = Postgres(runs.source.name, partitions=2, framed=False)
    # Table → new key, and a row that is changed behind the half that lands first.
    told = ((GONE_LATE, NEW, 11), (COME_LATE, NEW, 12), (BETWEEN, SAME_PARTITION, 12))
    for each, new, beside in told:
        pg.transact(*((each, "c", None, row(key, "old", f"big{key}")) for key in (OLD, beside)))
        pg.transact((each, "u", row(OLD, "old"), row(new, "moved")))
        pg.transact((each, "u", None, row(new, "last")), (each, "u", None, row(beside, "last")))
    late = [*take(pg, GONE_LATE, "d"), *take(pg, COME_LATE, "c"), *take(pg, BETWEEN, "c")]

    first = runs.run(pg)

    assert laws_hold(first["apply"])
    for each, _, beside in told:
        before = [(OLD, "old", "big1"), (beside, "old", f"big{beside}")]
        assert runs.rows(each.name, "id", "note", "big") == before, each.name
    assert first["apply"].detail["findings"] == []

    pg.messages += late
    second = runs.run(pg)

    assert laws_hold(second["apply"])
    assert "0 messages wait" in second["apply"].message
    for each, new, beside in told:
        after = [(new, "last", "big1"), (beside, "last", f"big{beside}")]
        assert runs.rows(each.name, "id", "note", "big") == after, each.name


@pytest.mark.further
def test_a_half_that_stays_alone_is_applied_and_told(runs: Runs):
    """What is newer in every topic partition of the topic shows that the other never comes."""
    pg = Postgres(runs.source.name, partitions=2, framed=False)
    pg.transact(*((BETWEEN, "c", None, row(number, "old", "big")) for number in (OLD, 11, 12)))
    pg.transact((BETWEEN, "u", row(OLD, "old"), row(NEW, "moved")))
    lost = [m for m in pg.messages if "newkey" in str(m["headers"])]
    pg.messages = [m for m in pg.messages if m not in lost]
    pg.transact((BETWEEN, "u", None, row(12, "newer")))

    assert laws_hold(runs.run(pg)["apply"])
    assert runs.rows("between", "id", "note") == [(OLD, "old"), (11, "old"), (12, "newer")]

    pg.transact((BETWEEN, "u", None, row(11, "newer")))
    second = runs.run(pg)

    assert laws_hold(second["apply"])
    told = " ".join(map(str, second["apply"].detail["findings"]))
    assert "1 halves of key changes" in told
    assert runs.rows("between", "id", "note", "big") == [
        (OLD, "old", "big"),
        (NEW, "moved", None),
        (11, "newer", "big"),
        (12, "newer", "big"),
    ]


@pytest.mark.further
def test_a_half_waits_no_longer_than_an_open_transaction(runs: Runs):
    pg = Postgres(runs.source.name, partitions=2, framed=False)
    pg.transact((BETWEEN, "c", None, row(OLD, "old", "big")))
    pg.transact((BETWEEN, "u", row(OLD, "old"), row(NEW, "moved", "big")))
    take(pg, BETWEEN, "c")
    assert laws_hold(runs.run(pg)["apply"])
    assert runs.rows("between", "id", "note") == [(OLD, "old")]

    pg.clock_ms += int(runs.source.transactions.timeout.total_seconds() * 1000)
    pg.send_raw(f"__debezium-heartbeat.{runs.source.name}", "{}", '{"ts_ms":1}')
    second = runs.run(pg)

    assert laws_hold(second["apply"])
    assert runs.rows("between", "id", "note") == []
    assert "applied alone" in str(second["apply"].detail["findings"])


@pytest.mark.further
def test_rows_that_move_up_by_one_key_all_stay(spark: SparkSession, settings: Settings, tmp_path):
    """`SET id = id + 1`: each row comes to its key before the older row leaves it."""
    text = 'connector = "oracle"\ntopic_prefix = "up"\n[tables."PDB1.public.between"]\n'
    text = text.replace("PDB1.", "") + "history = true\n"
    runs = Runs(spark, settings, tmp_path, parse_source(text, "up"))
    oracle, keys = Oracle("up", framed=False), (1, 2, 3)
    for each in (BETWEEN, GONE_LATE):
        oracle.scn += 1
        oracle.transact(*((each, "c", None, row(key, f"n{key}", f"big{key}")) for key in keys))
    for each in (BETWEEN, GONE_LATE):
        if each is GONE_LATE:
            runs.run(oracle)
        oracle.scn += 1
        moves = (
            (row(key, f"n{key}", f"big{key}"), row(key + 1, f"n{key}", f"big{key}")) for key in keys
        )
        oracle.transact(*((each, "u", *move) for move in moves))
    # Which came there in the same commit and left again is gone.
    oracle.scn += 1
    chain = (row(9, "n9", "b"), row(8, "n9", "b"), row(7, "n9", "b"))
    oracle.transact((COME_LATE, "c", None, chain[0]))
    oracle.scn += 1
    oracle.transact(*((COME_LATE, "u", *move) for move in pairwise(chain)))

    assert laws_hold(runs.run(oracle)["apply"])
    moved = [(key + 1, f"n{key}", f"big{key}") for key in keys]
    assert runs.rows("between", "id", "note", "big") == moved
    assert runs.rows("gone_late", "id", "note", "big") == moved
    assert runs.rows("come_late", "id") == [(7,)]
    history = runs.rows(
        "between__history", "id", "coalesce(note, '')", "_version.to_position IS NULL AS valid"
    )
    assert [version for version in history if version[2]] == [
        (key + 1, f"n{key}", True) for key in keys
    ]
    assert len(history) == 7  # The delete of the first key is one, too.


def test_transactions_that_commit_at_one_scn_are_told_apart(
    spark: SparkSession, settings: Settings, tmp_path
):
    """A row that another transaction deleted there is not the one that got the new key."""
    text = 'connector = "oracle"\ntopic_prefix = "scn"\n'
    runs = Runs(spark, settings, tmp_path, parse_source(text, "scn"))
    oracle = Oracle("scn", framed=False)
    oracle.transact(*((BETWEEN, "c", None, row(key, "old", f"big{key}")) for key in (OLD, 11)))
    oracle.scn += 1
    oracle.transact((BETWEEN, "u", row(OLD, "old"), row(NEW, "moved")))
    oracle.transact((BETWEEN, "d", row(11, "old"), None))

    assert laws_hold(runs.run(oracle)["apply"])
    assert runs.rows("between", "id", "note", "big") == [(NEW, "moved", "big1")]
