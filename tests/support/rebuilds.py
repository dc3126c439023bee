"""A history with all that a table can go through, and what silver has of it, for rebuilds."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace

from lakehouse.names import RETIRED
from lakehouse.plan.batches.tables import ENDINGS
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark import metadata, tables
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs

TOML = """
connector = "postgresql"
topic_prefix = "{name}"
[tables."public.orders"]
history = true
"""
ORDERS = Table(
    "orders",
    [column("id", "int32", optional=False), column("name", "string"), column("big", "string")],
)
WIDER = replace(ORDERS, columns=[*ORDERS.columns, column("n", "int32", default=7)])
BAGS = Table("bags", [column("id", "int32"), column("name", "string")], ())


def tell(name: str, transactions: int, seed: int = 7) -> tuple[Postgres, list[int]]:
    """Rows that come, change, move to other keys and go; a truncate, and a new column.

    Returns:
        The connector, and how many messages it had sent after each transaction.
    """
    pg, chance, ends = Postgres(name, partitions=2), random.Random(seed), []
    live = {n: {"id": n, "name": f"read {n}", "big": f"big {n}"} for n in range(5)}
    pg.snapshot(ORDERS, list(live.values()))
    for number in range(transactions):
        table = ORDERS if number < transactions // 3 else WIDER
        if number == transactions // 2:
            pg.transact((table, "t", None, None))
            live.clear()
        changes = [_change(chance, table, live, 100 * number + n) for n in range(3)]
        bag = {"id": number % 4, "name": "equal"}
        kind = (BAGS, "d", bag, None) if number % 9 == 8 else (BAGS, "c", None, bag)
        pg.transact(*changes, kind)
        ends.append(pg.mark())
    return pg, ends


def _change(chance: random.Random, table: Table, live: dict, number: int):
    what = chance.choice("ccuuukd") if live else "c"
    if what == "c":
        after = _with_new(
            table, {"id": 1000 + number, "name": f"new {number}", "big": f"b{number}"}
        )
        live[after["id"]] = after
        return (table, "c", None, after)
    key = chance.choice(sorted(live))
    before = live.pop(key)
    if what == "d":
        return (table, "d", _with_new(table, before), None)
    moved = {"id": 5000 + number} if what == "k" else {}
    after = _with_new(table, {**before, "name": f"changed {number}", **moved})
    live[after["id"]] = after
    sent = {**after, "big": PLACEHOLDER} if chance.random() < 0.5 else after
    return (table, "u", _with_new(table, before), sent)


def _with_new(table: Table, row: dict) -> dict:
    return {**row, "n": row.get("n", 7)} if table is WIDER else row


def run_in_batches(runs: Runs, pg: Postgres, ends: Sequence[int]) -> None:
    """One run for each end, over what was sent up to there."""
    for end in ends:
        part = replace(pg, messages=pg.messages[:end])
        outcomes = runs.run(part)
        failed = {s: o.message for s, o in outcomes.items() if o.status != "succeeded"}
        assert failed == {}


def rebuild(
    runs: Runs,
    *named: str,
    undo: bool = False,
    ledger: Ledger | None = None,
    steps: Sequence[str] = ("apply", "validate", "publish"),
) -> dict[str, StepOutcome]:
    """Do a rebuild, up to a step."""
    context = replace(runs.context(), rebuild=Rebuild(named, undo=undo))
    context = replace(context, ledger=ledger) if ledger else context
    outcomes: dict[str, StepOutcome] = {}
    for step in steps:
        outcomes[step] = execute(step, context)
        if outcomes[step].ends_run or outcomes[step].status != "succeeded":
            break
    return outcomes


def silver(runs: Runs, table: str) -> str:
    """The name of a table of the history."""
    return f"silver_{runs.source.name}.public__{table}"


def spoil(runs: Runs, *, by_a_cut: bool = False) -> None:
    """Rows and marks go, change and come, by a program of another or as if by a cut of ours."""
    mark = {metadata.CUT_PROPERTY: "spoilt"} if by_a_cut else {}
    session = runs.spark.newSession()
    for table in (silver(runs, "orders"), silver(runs, "bags")):
        tables.delete_on_branch(session, table, "main", "id % 3 = 0", mark)
        tables.update_on_branch(session, table, "main", "name = 'spoilt'", mark, where="id % 3 = 1")
    if not by_a_cut:
        # Iceberg deletes whole files, and the commit carries no property of the session.
        tables.delete_on_branch(session, silver(runs, "orders") + "__state", "main", "true", mark)


def contents(runs: Runs) -> dict[str, list[str]]:
    """Every row of every table that readers have, with coordinates, whatever the source's name."""
    name = runs.source.name
    found: dict[str, list[str]] = {}
    for silver in identities_of(runs.ledger.newest_cut(name)):
        for table in (silver + ending for ending in ENDINGS if not RETIRED.search(silver)):
            if tables.exists(runs.spark, table):
                rows = runs.spark.table(tables.full_name(table)).selectExpr("to_json(struct(*)) r")
                # A column that was added later stands behind ours.
                values = (json.loads(row["r"].replace(name, "SOURCE")) for row in rows.collect())
                lines = sorted(json.dumps(each, sort_keys=True) for each in values)
                found[table.replace(name, "SOURCE")] = lines
    return found
