"""Stands in for spark-submit: writes rows to `quality.runs` as the real application does.

What each call does stands in the JSON list that PLAN names, one object per call: step → status,
where `refused` is a success that found tables unfit; a step that is not there leaves no row. Each
call's arguments and environment are kept in CALLS.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from lakehouse.config import Settings
from lakehouse.plan.records import RUNS, STEPS, RunRow
from lakehouse.spark.ledger import Ledger


def main(arguments: list[str]) -> int:
    calls, plan = Path(os.environ["CALLS"]), json.loads(Path(os.environ["PLAN"]).read_text())
    kafka = os.environ.get("LAKEHOUSE_KAFKA")
    number = len(list(calls.iterdir()))
    (calls / f"{number}.json").write_text(json.dumps({"arguments": arguments, "kafka": kafka}))
    named = dict(itertools.pairwise(arguments))
    outcomes = plan[number]
    first = "validate" if "--full" in arguments else named["--from-step"]
    rows = [
        row(named, step, outcomes[step]) for step in STEPS[STEPS.index(first) :] if step in outcomes
    ]
    Ledger(Settings.from_environment()).append(RUNS, rows)
    return 0 if outcomes.get(first) == "succeeded" else 1


def row(named: dict[str, str], step: str, status: str) -> RunRow:
    now = datetime.now(UTC)
    return RunRow(
        source=json.loads(named["--config"])["name"],
        run_id=named["--run-id"],
        attempt=1,
        step=step,
        status="succeeded" if status == "refused" else status,
        started_at=now,
        ended_at=now,
        batch_id="batch-1",
        code_hash="",
        config_hash="",
        counts=json.dumps({"messages": 7, "tables_failed": int(status == "refused")}),
        detail=json.dumps({"run_started": named["--run-started"], "cut_id": "cut-1"}),
        message=f"{step} {status}: 7 messages",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
