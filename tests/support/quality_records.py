"""Rows of `quality.*` as many runs of a source leave them, for the pages that are made from them.

Nothing ran: the rows are written as the steps write them, with failures of each kind among them.
Every text that a message, a person or another program gave passes through `say`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from expectations import SUITES
from lakehouse.plan.records import CUTS, QUARANTINE, RESULTS, RUNS, SCHEMA_VERSIONS, Record
from lakehouse.plan.records import ResultRow as Result
from lakehouse.spark.control.ledger import Ledger
from tests.expectations.samples import BAD, GOOD

START = datetime(2026, 3, 2, 6, tzinfo=UTC)
EVERY = timedelta(minutes=30)
NAMES = ("customers", "orders", "order_items", "payments", "products", "shipments", "reviews")
CONTROL_TABLES = (RUNS, CUTS, RESULTS, SCHEMA_VERSIONS, QUARANTINE)
# Runs leave a file for each row of some tables; so many files a test can wait for.
_COMMITS = 3


@dataclass
class Story:
    """The rows of one source; `write` appends them.

    Attributes:
        say: What becomes of each text that is not the project's own.
        rows: By control table.
        dice: The same rows each time.
    """

    source: str
    tables: int = len(NAMES)
    runs: int = 30
    say: Callable[[str], str] = str
    rows: dict[str, list[Record]] = field(default_factory=dict)
    dice: random.Random = field(default_factory=lambda: random.Random(7))

    def write(self, ledger: Ledger) -> None:
        for table in CONTROL_TABLES:
            rows = self.rows.get(table.name, [])
            size = max(-(-len(rows) // _COMMITS), 1)
            for part in range(0, len(rows), size):
                ledger.append(table, rows[part : part + size])

    def add(self, table: str, *rows: Record) -> None:
        self.rows.setdefault(f"quality.{table}", []).extend(rows)

    def name(self, number: int) -> str:
        """A source table's name, without what `say` makes of it."""
        plain = NAMES[number % len(NAMES)]
        return plain if number < len(NAMES) else f"{plain}_{number // len(NAMES)}"

    def silver(self, number: int) -> str:
        return f"silver_{self.source}.shop__{self.name(number)}"

    def topic(self, number: int) -> str:
        return f"{self.source}.shop.{self.name(number)}"

    def identity(self, number: int) -> tuple[str, None, str]:
        return ("shop", None, self.say(self.name(number)))


@dataclass(frozen=True)
class Run:
    """One of its runs.

    Attributes:
        changed: The tables that it changes.
        stopped: The step that it does not get past; empty for a whole run.
    """

    told: Story
    number: int
    stopped: str = ""

    @property
    def begun(self) -> datetime:
        return START + self.number * EVERY

    @property
    def id(self) -> str:
        return self.told.say(f"scheduled__{self.begun:%Y-%m-%dT%H:%M}")

    @property
    def cut_id(self) -> str:
        return f"{self.number + 1:08d}"

    @property
    def changed(self) -> list[int]:
        tables = self.told.tables
        return [n for n in range(tables) if tables < 10 or n % 3 == self.number % 3]

    @property
    def landed(self) -> dict[int, int]:
        """Messages by table."""
        return {n: 40 + 10 * (n % 5) + 12 * (self.number % 7) for n in self.changed}


def results(run: Run) -> list[Result]:
    """What its validation found; the newest run has a table with two failures."""
    judged = [
        (suite, rule, subject)
        for n in run.changed
        for suite, subject in (
            ("silver", run.told.silver(n)),
            ("bronze", f"{run.told.topic(n)}/0"),
        )
        for rule in SUITES[suite].rules
    ]
    newest = run.number == run.told.runs - 1
    found = []
    for suite, rule, subject in judged:
        is_warning = rule.severity.value == "warning"
        fails = run.told.dice.random() < (0.03 if is_warning else 0.001)
        bad_now = newest and rule.name in ("no_nulls_in_required", "no_duplicate_keys")
        fails = fails or (bad_now and subject == run.told.silver(2))
        found.append(_result(run, suite, rule.name, subject, fails=fails))
    return found


def worst(found: Sequence[Result], table: str = "") -> str:
    """The verdict of a table, or of all."""
    bad = {row.severity for row in found if not row.success and table in ("", row.table)}
    return "failed" if "critical" in bad else "warning" if bad else "passed"


def _result(run: Run, suite: str, name: str, subject: str, *, fails: bool) -> Result:
    told = run.told
    rule = next(rule for rule in SUITES[suite].rules if rule.name == name)
    values = GOOD[suite] | (BAD[suite][name] if fails else {})
    observed: dict[str, object] = {metric: values[metric] for metric in rule.columns}
    if fails:
        observed[f"{rule.columns[0]}_note"] = told.say("quantity, price")
    return Result(
        source=told.source,
        run_id=run.id,
        run_started=run.begun,
        suite=suite,
        table=told.say(subject) if suite == "bronze" else subject,
        cut=run.cut_id,
        expectation=name,
        description=rule.description,
        severity=rule.severity.value,
        success=not fails,
        observed=json.dumps(observed),
        expected=rule.expected,
        validated_at=run.begun + timedelta(seconds=31),
        samples=json.dumps(_samples(told)) if fails else "",
    )


def _samples(told: Story) -> list[object]:
    topic = told.say(told.topic(2))
    keys = [{"order_id": 4711 + n, "product": told.say("tea")} for n in range(3)]
    return [
        {"key": json.dumps(key), "messages": [[topic, 0, 8800 + 7 * n], [topic, 0, 8950 + n]]}
        for n, key in enumerate(keys)
    ]
