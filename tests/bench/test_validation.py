"""What validation costs beside apply: CPU of both over a batch of changes in several tables.

`BENCH_CHANGES` and `BENCH_TABLES` change the size; the figures are printed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pytest

from lakehouse.plan.records import STEPS
from lakehouse.steps.runner import execute
from tests.bench import sizes
from tests.bench.cpu import cpu_seconds
from tests.bench.results import measured
from tests.support.debezium import Postgres, Row, Table, column
from tests.support.runs import open_runs

CHANGES = sizes.number("CHANGES", 100_000)
TABLES = sizes.number("TABLES", 10)
# Changes of one transaction.
_TOGETHER = 100
_MOST_OF_APPLY = 0.5
Change: TypeAlias = tuple[Table, str, Row | None, Row | None]


@pytest.mark.timeout(3600)
def test_validation_adds_at_most_half_the_cpu_of_apply(spark, settings, tmp_path, result):
    runs = open_runs(spark, settings, tmp_path, "bench_validation")
    source, count = Postgres("bench_validation"), CHANGES // TABLES
    tables = [table_of(number) for number in range(TABLES)]
    orders = Orders(tables, [list(range(count)) for _ in tables], random.Random(1))
    for table in tables:
        source.snapshot(table, [row(key) for key in range(count)])
    parts = {}
    for batch in ("first load", "changes"):
        if batch != "first load":
            orders.change(source, count)
        parts[batch] = seconds_of(runs.context(source.archive(tmp_path / batch)))
        place = ("validation", f"{batch}, {CHANGES:,} in {TABLES} tables")
        for step, seconds in parts[batch].items():
            result(measured(place, step, [seconds], "CPU s"))
        share = parts[batch]["validate"] / parts[batch]["apply"]
        result(measured(place, "validate beside apply", [share], "times the CPU", "at most 0.5"))

    for seconds in parts.values():
        assert seconds["validate"] <= _MOST_OF_APPLY * seconds["apply"]


def seconds_of(context) -> dict[str, float]:
    """CPU seconds of each step of one run, of this process and all that it started."""
    found = {}
    for step in STEPS:
        before = cpu_seconds()
        outcome = execute(step, context)
        assert (outcome.status, outcome.exit_code) == ("succeeded", 0), outcome.message
        found[step] = cpu_seconds() - before
    return found


def table_of(number: int) -> Table:
    return Table(
        f"orders_{number}",
        [
            column("id", "int64", optional=False),
            column("customer", "string", optional=False),
            column("state", "string"),
            column("note", "string"),
            *(column(f"amount_{place}", "int64") for place in range(4)),
            *(column(f"flag_{place}", "boolean") for place in range(2)),
        ],
    )


def row(key: int, version: int = 0) -> Row:
    return {
        "id": key,
        "customer": f"customer {key % 997}",
        "state": ("new", "paid", "sent")[(key + version) % 3],
        "note": f"note {version} of order {key}",
        **{f"amount_{place}": key * 7 + version + place for place in range(4)},
        **{f"flag_{place}": (key + version + place) % 2 == 0 for place in range(2)},
    }


@dataclass
class Orders:
    """Tables of one source, and the keys that each of them has."""

    tables: list[Table]
    keys: list[list[int]]
    chance: random.Random

    def change(self, source: Postgres, count: int) -> None:
        """Of a hundred changes 70 updates, 25 creates, 5 deletes, in transactions over tables."""
        events = [each for place in range(len(self.tables)) for each in self._of(place, count)]
        # Each key is changed once at most.
        self.chance.shuffle(events)
        for start in range(0, len(events), _TOGETHER):
            source.transact(*events[start : start + _TOGETHER])

    def _of(self, place: int, count: int) -> Iterator[Change]:
        table, keys, version = self.tables[place], self.keys[place], self.chance.randrange(1, 1000)
        self.chance.shuffle(keys)
        created = range(max(keys) + 1, max(keys) + 1 + count // 4)
        updated, deleted = keys[: count * 7 // 10], keys[count * 7 // 10 : count * 3 // 4]
        yield from ((table, "u", row(key), row(key, version)) for key in updated)
        yield from ((table, "d", row(key), None) for key in deleted)
        yield from ((table, "c", None, row(key, version)) for key in created)
        self.keys[place] = [*updated, *keys[count * 3 // 4 :], *created]
