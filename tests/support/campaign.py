"""Runs that are killed one after the other over a bank, and what must be so after each of them.

The bank's transactions go over three tables and leave their sum as it is (`transfers`): half a
transaction, a lost row and a row that went back show in it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.failpoints import VARIABLE, FailpointReached
from lakehouse.plan.records import STEPS
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepContext, StepOutcome
from tests.support.dying_run import CATALOG_KILL, LATER, do, through
from tests.support.runs import Runs, laws_hold, open_runs
from tests.support.transfers import TABLES, Bank, Reader, Rows, rows_at

_ROOT = Path(__file__).resolve().parents[2]
# Each named point of each step, and how often a run over three changed tables passes it at least;
# of `maintain`, when cuts, snapshots and small files are a month old.
PASSED = {
    "land.before_write": 2,
    "land.after_files": 1,
    "land.before_commit": 3,
    "land.after_commit": 5,
    "land.after_mirror": 1,
    "check.before_write": 1,
    "check.after_files": 1,
    "check.after_commit": 1,
    "check.after_mirror": 1,
    "apply.after_lease": 1,
    "apply.before_write": 4,
    "apply.after_files": 1,
    "apply.before_commit": 3,
    "apply.after_commit": 4,
    "apply.between_tables": 3,
    "apply.after_mirror": 1,
    "validate.before_write": 2,
    "validate.after_files": 2,
    "validate.after_commit": 2,
    "validate.after_mirror": 1,
    "publish.before_write": 3,
    "publish.after_files": 3,
    "publish.before_commit": 6,
    "publish.after_commit": 9,
    "publish.between_tables": 9,
    "publish.after_mirror": 1,
    "maintain.after_lease": 6,
    "maintain.before_write": 10,
    "maintain.after_files": 1,
    "maintain.before_commit": 6,
    "maintain.after_commit": 16,
    "maintain.between_tables": 12,
    "maintain.after_mirror": 1,
}


@dataclass
class Campaign:
    """A source whose runs are killed.

    Attributes:
        kills: Failpoint → how many processes died at it.
        spared: Failpoints at which nothing died, since the work was done without reaching them.
        said: What the process that was to die last printed.
    """

    runs: Runs
    bank: Bank
    reader: Reader
    kills: Counter[str] = field(default_factory=Counter)
    spared: Counter[str] = field(default_factory=Counter)
    said: str = ""

    def kill(self, where: str, nth: int = 1, *, alone: bool = False) -> bool:
        """Do the work that a failpoint is in, in a process that dies there; whether it died.

        Args:
            where: `STEP.POINT`; `catalog.before` or `catalog.after` for a write through Java in any
                step, `catalog_maintain.before` or `.after` for one in maintenance.
            nth: How often the place is passed until then, from 1.
            alone: Whether that process does the step alone, behind this one's earlier steps: as
                where each step is an application.
        """
        step, _, point = where.partition(".")
        if _work(where) == "maintain":
            # A cut, snapshots and files that it has not seen.
            self.bank.transfer(2)
            self.runs.run(self.bank.source)
        self.bank.transfer(2)
        is_catalogs = step in ("catalog", "catalog_maintain")
        kill = f"{where}:{nth}:kill"
        named = {CATALOG_KILL: f"{point}:{nth}"} if is_catalogs else {VARIABLE: kill}
        work = step if alone and step in STEPS else _work(where)
        died = self._process(work, named) == -signal.SIGKILL
        (self.kills if died else self.spared)[where] += 1
        self.look()
        return died

    def fail(self, where: str, nth: int = 1) -> None:
        """Do the work of a failpoint in this process, which raises an error there."""
        self.bank.transfer(2)
        with armed(f"{where}:{nth}:raise"), suppress(FailpointReached):
            do(_work(where), self.context(f"failed_{where}_{nth}"), LATER)
        self.look()

    def overtake(self, where: str, nth: int = 1) -> list[StepOutcome]:
        """Stop a run at a failpoint for as long as another one takes, then let it go on.

        The run that stands still has lost its lease by then: both are of this process, which does
        one step at a time. Gives how the other one ended.
        """
        self.bank.transfer(2)
        file, errors = self.runs.folder / f"stands_{where}_{nth}", list[Exception]()
        context = self.context(f"stopped_{where}_{nth}")

        def stand() -> None:
            try:
                do(_work(where), replace(context, spark=context.spark.newSession()), LATER)
            except Exception as error:  # noqa: BLE001 - raised below, where the test sees it
                errors.append(error)

        with armed(f"{where}:{nth}:pause={file}"):
            thread = threading.Thread(target=stand)
            thread.start()
            while thread.is_alive() and not file.exists():
                thread.join(0.05)
            assert thread.is_alive(), f"the run did not come to {where} {nth} times"
            self.bank.transfer(1)
            outcomes = list(self.runs.run(self.bank.source).values())
            file.unlink()
            thread.join()
        assert errors == []
        self.look()
        self.is_current()
        return outcomes

    def is_current(self) -> None:
        """All that the bank has sent is in `main`: nothing older was written over it."""
        assert self._rows() == self.bank.rows, "main went back"

    def look(self) -> None:
        """What a reader may see at any time: whole transactions, and cuts in their order."""
        self.reader.look()
        assert self.reader.halves == {}
        rows = self.runs.ledger.cuts(self.runs.source.name)
        published = sorted((r for r in rows if r.state == "published"), key=lambda r: r.recorded_at)
        order = list(dict.fromkeys(row.cut_id for row in published))
        assert order == sorted(order)

    def finish(self, *, readable: bool = True) -> None:
        """One clean run: silver is the source, each message is in bronze once, all is readable.

        Args:
            readable: Whether older snapshots, too, can be read.
        """
        outcomes = self.runs.run(self.bank.source)
        assert unready(outcomes) == {}, unready(outcomes)
        assert laws_hold(outcomes["apply"])
        name, catalog = self.runs.source.name, self.runs.ledger.catalog
        assert self._rows() == self.bank.rows
        bronze = self.runs.spark.table(full_name(f"bronze.{name}"))
        landed = bronze.select("topic", "partition", "offset")
        assert landed.count() == landed.distinct().count() == len(self.bank.source.messages)
        if readable:
            assert unread(catalog, tables_of(catalog, name)) == []
        self.look()

    def _rows(self) -> Rows:
        """What each table's `main` has."""
        name = self.runs.source.name
        silver = {f"silver_{name}.public__{table}": None for table in TABLES}
        return rows_at(self.runs.ledger.catalog, silver)

    def context(self, run_id: str) -> StepContext:
        """A run over all that the bank has sent."""
        folder = self.runs.folder / f"{len(list(self.runs.folder.iterdir()))}"
        return self.runs.context(self.bank.source.archive(folder), run_id)

    def _process(self, work: str, failpoint: dict[str, str]) -> int:
        folder = self.runs.folder / f"{len(list(self.runs.folder.iterdir()))}"
        archive, run_id = self.bank.source.archive(folder), f"killed_{folder.name}"
        if work in STEPS:
            context = replace(self.runs.context(archive, run_id), lone_step=True)
            through(STEPS[: STEPS.index(work)], context)
        command = [sys.executable, "-m", "tests.support.dying_run", str(self.runs.settings.home)]
        command += [self.runs.source.name, run_id, work, str(archive)]
        ended = subprocess.run(
            command,
            cwd=_ROOT,
            env=os.environ | failpoint,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        self.said = ended.stdout[-2000:]
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr[-4000:]
        return ended.returncode


def unready(outcomes: Mapping[str, StepOutcome]) -> dict[str, str]:
    """The steps of a run that did not end well, with what they say."""
    return {step: each.message for step, each in outcomes.items() if each.exit_code}


@contextmanager
def armed(failpoint: str) -> Iterator[None]:
    """Set the failpoint of this process."""
    os.environ[VARIABLE] = failpoint
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def begin(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Campaign:
    """A bank of which a first cut is published."""
    runs, bank = open_runs(spark, settings, folder, name), Bank(name)
    runs.run(bank.source)
    return Campaign(runs, bank, Reader(settings, name))


def _work(where: str) -> str:
    work = where.partition(".")[0].removeprefix("catalog_")
    return work if work == "maintain" else "run"


def unread(catalog: Catalog, tables: Iterable[str]) -> list[str]:
    """The snapshots of tables of which a file is missing."""
    missing = []
    for name in tables:
        table = catalog.load_table(name)
        for snapshot in table.metadata.snapshots:
            try:
                table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
            except FileNotFoundError:
                missing.append(f"{name} {snapshot.snapshot_id}")
    return missing


def tables_of(catalog: Catalog, source: str) -> list[str]:
    """Bronze and silver of a source, and the control tables."""
    spaces = (f"silver_{source}", "quality")
    names = [".".join(each) for space in spaces for each in catalog.list_tables(space)]
    return [f"bronze.{source}", *names]
