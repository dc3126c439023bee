"""A topic whose partitions are raised: a key's events go on in another topic partition.

Offsets then no longer order a key's events, and a landing may have the newer ones first. The order
is the source's position, so that no row goes back and no deleted one comes again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
KEYS = range(6)
BEFORE = [(number, "before") for number in KEYS]
AFTER = [(number, "after") for number in KEYS if number > 1]


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def told(name: str) -> tuple[Postgres, int]:
    """Rows that change before and after the partitions are raised, two of them to their end.

    Returns:
        The connector, and how many messages it had sent before.
    """
    pg = Postgres(name, framed=False)
    pg.snapshot(ORDERS, [row(number, "read") for number in KEYS])
    pg.transact(*((ORDERS, "u", None, row(number, "before")) for number in KEYS))
    before, pg.partitions = pg.mark(), 3
    pg.transact(*((ORDERS, "u", None, row(number, "after")) for number in KEYS))
    pg.transact(*((ORDERS, "d", row(number, "after"), None) for number in (0, 1)))
    return pg, before


def ran(runs: Runs, pg: Postgres) -> list[tuple[object, ...]]:
    outcomes = runs.run(pg)
    assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
    assert laws_hold(outcomes["apply"])
    return runs.rows("orders", "id", "name")


def places(pg: Postgres) -> dict[str, set[int]]:
    """The topic partitions in which each key's events stand."""
    found: dict[str, set[int]] = {}
    for message in pg.messages:
        found.setdefault(str(message["key"]), set()).add(int(str(message["partition"])))
    return found


def test_keys_that_go_on_in_another_topic_partition_keep_the_order_of_the_source(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs = open_runs(spark, settings, tmp_path, "raised")
    pg, raised = told("raised")
    assert {0, 1, 2} == set().union(*places(pg).values())
    assert max(len(each) for each in places(pg).values()) == 2
    assert ran(runs, replace(pg, messages=pg.messages[:raised])) == BEFORE

    assert ran(runs, pg) == AFTER

    # A restart of the connector sends all of it again, behind what the first partition has.
    pg.redeliver(0, first_without_commit=False)
    assert ran(runs, pg) == AFTER
    pg.transact((ORDERS, "c", None, row(0, "again")))
    assert ran(runs, pg) == [(0, "again"), *AFTER]


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(number, marks=pytest.mark.further) for number in (1, 2))]
)
def test_a_topic_partition_that_lands_later_takes_nothing_back(
    spark: SparkSession, settings: Settings, tmp_path: Path, first: int
) -> None:
    name = f"raised_{first}"
    runs = open_runs(spark, settings, tmp_path, name)
    pg, _ = told(name)
    one = [message for message in pg.messages if message["partition"] == first]

    ran(runs, replace(pg, messages=one))

    assert ran(runs, pg) == AFTER
