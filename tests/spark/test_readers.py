"""A reader that takes its tables from the newest published cut, while cuts are published.

It reads again and again while `publish` runs, while it is killed with SIGKILL between any two of
its commits, and while the next run finishes what it left. `make test` kills it at two places, one
on each side of the moment of publication; `make soak` at all.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lakehouse.plan.records import CUTS, STEPS
from lakehouse.spark.ledger import open_catalog
from lakehouse.steps.runner import execute
from tests.support.runs import Runs, open_runs
from tests.support.sampling import EVERY_CASE
from tests.support.transfers import TABLES, Bank, Reader, sums_at

# Behind the intent and one of its tags; behind the published row and some of the tables' `main`.
SAMPLED = (2, 7)


def staged(runs: Runs, bank: Bank, name: str) -> str:
    """Land, check, apply and validate; the id of the run."""
    archive = bank.source.archive(runs.folder / name)
    context = replace(runs.context(archive, name), lone_step=True)
    for step in STEPS[:-1]:
        assert execute(step, context).status == "succeeded"
    return name


def killed(runs: Runs, run_id: str, nth: int) -> bool:
    """Publish in a process that dies after a commit; False if it had fewer and ended well."""
    command = [sys.executable, "-m", "tests.support.dying_publish", str(runs.settings.home)]
    root = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [*command, runs.source.name, run_id, str(nth)], cwd=root, check=False, timeout=500
    )
    assert ended.returncode in (0, -signal.SIGKILL)
    return ended.returncode != 0


def test_no_reader_sees_half_a_transaction_wherever_publish_is_killed(
    spark, settings, tmp_path, figure
):
    runs, bank = open_runs(spark, settings, tmp_path, "readers"), Bank("readers")
    bank.transfer(1)
    runs.run(bank.source)
    reader, kills = Reader(settings, "readers"), 0
    with reader.polling():
        for nth in itertools.count(1) if EVERY_CASE else SAMPLED:
            bank.transfer(3)
            if not killed(runs, staged(runs, bank, f"killed_{nth}"), nth):
                break
            kills += 1
            bank.transfer(1)
            outcomes = runs.run(bank.source)
            assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * 5
            silver = {f"silver_readers.public__{table}": None for table in TABLES}
            assert sums_at(open_catalog(settings), silver) == bank.sums
    assert reader.halves == {}
    assert len(reader.cuts) > kills
    figure(f"publish killed at {kills} places, {reader.looks} reads of {len(reader.cuts)} cuts")


def test_the_same_reader_sees_halves_where_tables_are_published_one_by_one(
    spark, settings, tmp_path
):
    runs, bank = open_runs(spark, settings, tmp_path, "one_by_one"), Bank("one_by_one")
    runs.run(bank.source)
    bank.transfer(1)
    run_id = staged(runs, bank, "table_by_table")
    ledger, reader = runs.ledger, Reader(settings, "one_by_one")
    cut, applied = ledger.newest_cut("one_by_one"), ledger.newest_run("one_by_one", "apply", run_id)
    assert cut is not None
    assert applied is not None
    for number, table in enumerate(json.loads(applied.detail)["tables"]):
        snapshots = cut.tables | {table["silver"]: table["snapshot"]}
        cut = replace(cut, cut_id=f"{cut.cut_id}_{number}", recorded_at=datetime.now(UTC))
        cut = replace(cut, tables=snapshots)
        ledger.append(CUTS, [cut])
        reader.look()
    assert reader.looks == len(TABLES)
    assert len(reader.halves) == len(TABLES) - 1
