"""Replay: quarantined messages again with today's TOML file, in whole runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import QUARANTINE
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.ending_ledger import EndingLedger
from tests.support.runs import Runs, laws_hold

TOO_LARGE = "3000000000"


class Death(Exception):
    """Stands for the end of a process."""


def die() -> None:
    raise Death


@dataclass
class Story:
    """A source whose numbers are sent as text, first declared too narrow, then wide enough."""

    runs: Runs
    pg: Postgres

    def declared(self, kind: str, mapping: str = "") -> Runs:
        name = self.runs.source.name
        text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n{mapping}'
        for table in ("orders", "bags"):
            text += f'[tables."public.{table}"]\nhistory = {str(table == "orders").lower()}\n'
            text += f'columns.n = {{ type = "{kind}" }}\n'
        return replace(self.runs, source=parse_source(text, name))

    def narrow(self) -> Runs:
        return self.declared("int")

    def wide(self) -> Runs:
        place = f"{self.runs.source.name}.public.all"
        return self.declared("bigint", f'[kafka]\ntopic_tables."{place}" = ["public.strays"]\n')


def table(name: str, key: tuple[str, ...] = ("id",)) -> Table:
    columns = [column("id", "int32", optional=False), column("n", "string")]
    return Table(name, [*columns, column("note", "string"), column("big", "string")], key)


def row(number: int, n: str, note: str, big: str = PLACEHOLDER) -> dict[str, object]:
    return {"id": number, "n": n, "note": note, "big": big}


def tell(pg: Postgres) -> int:
    """Bad events of keys that stay held, are healed, deleted, new, and of other tables.

    Returns:
        The place behind the snapshot, from where on everything may come again.
    """
    orders, bags, strays = table("orders"), table("bags", ()), table("strays")
    pg.snapshot(orders, [row(n, "1", "read", f"big{n}") for n in (1, 2, 3, 4)])
    start = pg.mark()
    pg.transact(
        *((orders, "u", None, row(n, TOO_LARGE, "bad", "changed")) for n in (1, 2, 4)),
        (orders, "u", None, row(3, "no number", "bad", "changed")),
        (orders, "c", None, row(6, TOO_LARGE, "new", "big6")),
        (bags, "c", None, row(1, TOO_LARGE, "bag", "")),
        (orders, "u", None, row(1, "4", "partial")),
        (orders, "u", None, row(3, "4", "partial")),
        (orders, "u", None, row(2, "5", "full", "newer")),
        (orders, "d", row(4, "1", ""), None),
    )
    pg.send_raw(f"{pg.prefix}.public.orders", '{"payload":{"id":9}}', "{")
    before = len(pg.messages)
    pg.transact((strays, "c", None, row(1, "7", "stray", "")))
    stray = next(m for m in pg.messages[before:] if '"op"' in str(m["value"]))
    pg.messages.remove(stray)
    pg.send_raw(f"{pg.prefix}.public.all", str(stray["key"]), str(stray["value"]))
    return start


def replay(runs: Runs, ledger: EndingLedger | None = None) -> dict[str, StepOutcome]:
    context = replace(runs.context(), replay=True)
    context = replace(context, ledger=ledger) if ledger else context
    outcomes: dict[str, StepOutcome] = {}
    for step in ("apply", "validate", "publish"):
        outcomes[step] = execute(step, context)
        if outcomes[step].ends_run:
            break
    return outcomes


def states(runs: Runs) -> Counter[tuple[str, str]]:
    """Reason and newest state of each quarantined message → how many."""
    rows = sorted(
        runs.ledger.rows(QUARANTINE, source=runs.source.name), key=lambda row: row.recorded_at
    )
    newest = {(row.topic, row.partition, row.offset): (row.reason, row.state) for row in rows}
    return Counter(newest.values())


ROWS = [
    (1, 4, "partial", "changed"),
    (2, 5, "full", "newer"),
    (3, 1, "read", "big3"),
    (6, 3_000_000_000, "new", "big6"),
]
VERSIONS = [
    (1, ["read", "bad", "partial"]),
    (2, ["read", "bad", "full"]),
    (3, ["read"]),
    (4, ["read", "bad", None]),
    (6, ["new"]),
]
STATES = {
    ("bad_value", "replayed"): 4,
    ("bad_value", "open"): 2,
    ("held_key", "replayed"): 1,
    ("held_key", "open"): 1,
    ("wrong_topic", "replayed"): 1,
    ("not_json", "open"): 1,
}


@pytest.mark.parametrize("dies", [pytest.param(False, marks=pytest.mark.further), True])
def test_what_can_be_applied_by_now_is_applied_in_its_place_and_once(
    spark: SparkSession, settings: Settings, tmp_path: Path, *, dies: bool
):
    name = f"replay_{int(dies)}"
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)
    story = Story(Runs(spark, settings, tmp_path, source), Postgres(name))
    start = tell(story.pg)
    story.narrow().run(story.pg)
    before = story.runs.ledger.newest_cut(name)
    assert before.held_keys == 3
    runs = story.wide()
    if dies:
        # Its cut is announced, and the next replay publishes it.
        with pytest.raises(Death):
            replay(runs, EndingLedger(settings, "quality.cuts", 1, die))
    outcomes = replay(runs)
    assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * 3
    assert laws_hold(outcomes["apply"])
    assert outcomes["validate"].detail["verdict"] in (
        ("passed", "no data") if dies else ("passed",)
    )
    bad = "4 superseded" if dies else "2 applied, 2 superseded"
    was = "superseded" if dies else "applied"
    assert outcomes["apply"].message == (
        f"10 quarantined messages judged again; bad_value: {bad}, 2 stay open; "
        f"held_key: 1 {was}, 1 stay open; not_json: 1 stay open; wrong_topic: 1 {was}"
    )
    assert outcomes["apply"].exit_code == 1

    cut = runs.ledger.newest_cut(name)
    assert (cut.offsets, cut.held_keys) == (before.offsets, 1)
    assert runs.rows("orders", "id", "n", "note", "big") == ROWS
    assert runs.rows("strays", "id", "note") == [(1, "stray")]
    assert runs.rows("bags", "id") == []
    assert versions(runs) == VERSIONS
    assert states(runs) == STATES

    again = replay(runs)
    assert again["apply"].message.startswith("4 quarantined messages judged again; bad_value: 2 st")
    assert list(again) == ["apply"]
    assert runs.ledger.newest_cut(name) == cut

    # What follows is an ordinary run, in which everything comes once more.
    orders = table("orders")
    story.pg.transact((orders, "u", None, row(1, "8", "later")))
    story.pg.redeliver(start, first_without_commit=False)
    last = runs.run(story.pg)
    assert laws_hold(last["apply"])
    assert last["publish"].status == "succeeded"
    assert runs.rows("orders", "id", "n", "note", "big") == [
        (1, 8, "later", "changed"),
        *ROWS[1:],
    ]
    assert runs.ledger.newest_cut(name).held_keys == 1


def versions(runs: Runs) -> list[tuple[int, list[str | None]]]:
    found: dict[int, list[str | None]] = {}
    for number, _, _, note in runs.rows(
        "orders__history", "id", "_version.from_position", "_version.offset", "note"
    ):
        found.setdefault(number, []).append(note)
    return list(found.items())
