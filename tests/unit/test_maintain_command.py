"""A maintenance is recorded beside the runs, and is none that commands go on with."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.errors import StepFailed
from lakehouse.plan.records import RUNS, RunRow
from lakehouse.quality.reports.summary import read_recent, summarise_validation


def row(run_id: str, step: str, status: str) -> RunRow:
    now = datetime.now(UTC)
    return RunRow("shop", run_id, 1, step, status, now, now, "", "", "", "{}", "{}", "words")


def test_a_failed_maintenance_is_no_run_that_reports_speak_of(ledger):
    ledger.append(RUNS, [row("maintain__1", "maintain", "failed")])
    assert read_recent(ledger, "shop").runs == ()
    with pytest.raises(StepFailed, match="nothing was validated yet"):
        summarise_validation(ledger, "shop", None)


def test_steps_go_on_with_the_newest_run_that_has_some(ledger):
    ledger.append(RUNS, [row("maintain__1", "maintain", "succeeded")])
    ended = CliRunner().invoke(app, ["apply", "--source", "shop"])
    assert ended.exit_code == 1
    assert "no run is recorded" in str(ended.exception)
