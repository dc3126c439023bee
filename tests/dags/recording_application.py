"""Stands in for spark-submit: writes rows to `quality.runs` as the real application does.

What each call does stands in the JSON list that PLAN names, one object per call: step → status, in
the order in which the rows come. `refused` is a success that found tables unfit, `staged` one that
leaves something to publish, `derived` one that made the rows of an interval again; a step that is
not there leaves no row. Each call's arguments and environment are kept in CALLS.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lakehouse.config import Settings
from lakehouse.plan.records import MAINTAIN, RUNS, RunRow
from lakehouse.spark.control.ledger import Ledger

PUBLISHED = {"tables": {"silver_inventory.orders": 11, "silver_inventory.orders__state": 12}}
DONE = ("succeeded", "staged", "derived", "refused")


def main(arguments: list[str]) -> int:
    calls, plan = Path(os.environ["CALLS"]), json.loads(Path(os.environ["PLAN"]).read_text())
    kafka = os.environ.get("LAKEHOUSE_KAFKA")
    number = len(list(calls.iterdir()))
    call = {"arguments": arguments, "kafka": kafka, "java": os.environ.get("SPARK_SUBMIT_OPTS")}
    (calls / f"{number}.json").write_text(json.dumps(call))
    named = dict(itertools.pairwise(arguments))
    outcomes = plan[number]
    alone = MAINTAIN if MAINTAIN in outcomes else "validate" if "--full" in arguments else None
    first = alone or named["--from-step"]
    rows = [row(named, step, status) for step, status in outcomes.items()]
    Ledger(Settings.from_environment()).append(RUNS, rows)
    return 0 if outcomes.get(first) in DONE[:3] else 1


LAG = {
    "source": "inventory",
    "as_of": "2026-03-02T12:00:00+00:00",
    "cut": "cut-1",
    "messages": 9,
    "tables": [
        {
            "table": "public.orders",
            "silver": "silver_inventory.public__orders",
            "messages": 9,
            "waits_since": "2026-03-02T11:58:30+00:00",
        },
        {"table": "public.items", "silver": "silver_inventory.public__items", "messages": 0},
        {"table": "inventory.public.new", "silver": "", "messages": 0},
    ],
}


def row(named: dict[str, str], step: str, status: str) -> RunRow:
    now = datetime.now(UTC)
    return RunRow(
        source=json.loads(named["--config"])["name"],
        run_id=named["--run-id"],
        attempt=1,
        step=step,
        status="succeeded" if status in DONE else status,
        started_at=now - timedelta(seconds=1.5),
        ended_at=now,
        batch_id="batch-1",
        code_hash="",
        config_hash="",
        counts=json.dumps(
            {
                "messages": 7,
                "topics": {"shop.orders": 5, "shop.items": 2},
                "tables_failed": int(status == "refused"),
                "shop.orders[0]": {"applied": 2, "landed": 2},
                "shop.orders[1]": {"applied": 3, "landed": 3},
            }
        ),
        detail=json.dumps(
            {"run_started": named["--run-started"], "cut_id": "cut-1", **PUBLISHED}
            | ({"branch": "b"} if status == "staged" else {})
            | ({"lag": LAG} if step == "publish" else {})
            | ({"backfill": {}} if status == "derived" else {})
        ),
        message=f"{step} {status}: 7 messages",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
