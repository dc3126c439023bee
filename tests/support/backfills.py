"""Backfills of a source whose history `tests.support.rebuilds` tells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakehouse.plan.remaking.backfilling import Backfill, Interval
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres
from tests.support.runs import Runs

STEPS = ("apply", "validate", "publish")


def between(pg: Postgres, first: int, behind: int) -> Interval:
    """The time of some of the messages that were sent, as their numbers."""
    times = [
        datetime.fromtimestamp(int(str(pg.messages[number]["timestamp"])) / 1000, UTC)
        for number in (first, behind - 1)
    ]
    return Interval(times[0], times[1] + timedelta(milliseconds=1))


def keys_between(pg: Postgres, table: str, first: int, behind: int) -> set[int]:
    """The keys of a table that some of the messages name."""
    topic = f"{pg.prefix}.public.{table}"
    sent = [m for m in pg.messages[first:behind] if m["topic"] == topic and m["key"] is not None]
    return {json.loads(str(message["key"]))["payload"]["id"] for message in sent}


def backfill(
    runs: Runs, interval: Interval, *tables: str, steps: Sequence[str] = STEPS
) -> dict[str, StepOutcome]:
    """Make an interval's rows again, up to a step."""
    context = replace(runs.context(), backfill=Backfill(interval, tables))
    outcomes: dict[str, StepOutcome] = {}
    for step in steps:
        outcomes[step] = execute(step, context)
        if outcomes[step].ends_run or outcomes[step].status != "succeeded":
            break
    return outcomes


def by_key(lines: Sequence[str], keys: set[int], *, inside: bool) -> list[str]:
    """Rows as `tests.support.rebuilds.contents` gives them, of some keys or of the others."""
    return [line for line in lines if (json.loads(line)["id"] in keys) == inside]
