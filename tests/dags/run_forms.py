"""Sends forms to the Dags of `inventory` that have one, and prints what came of them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from airflow.dag_processing.dagbag import BundleDagBag

from lakehouse.config import Settings
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.plan.records import SCHEMA_VERSIONS
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.spark.control.ledger import Ledger
from tests.unit.test_quality_versions import ID, QTY, column, recorded, version

DAGS = Path(__file__).resolve().parents[2] / "dags"
CAREFUL = SchemaChangesConfig(require_approval=("add_column",))
FORMS = {
    "rejected": {"table": "public.orders", "action": "reject"},
    "mapped": {"table": "public.orders", "action": "approve", "renames": ["qty=amount"]},
    "stranger": {"table": "public.o; touch x", "action": "approve"},
}
# Nobody says where Kafka Connect is.
SIGNALS = {
    "unreachable": {"action": "execute", "tables": ["public.orders"], "conditions": ["id > 5"]},
    "misfit": {"action": "pause", "conditions": ["id > 5"]},
}
# A person has said that the writers are paused.
PAUSED = "pause"


def hold(ledger: Ledger) -> None:
    """Let a table wait at a column that went and one that came."""
    second = version(2, ID, column("amount", "int"))
    for row in recorded(*judge_versions((version(1, ID, QTY), second), (), CAREFUL)):
        moment = replace(row, source="inventory", recorded_at=datetime.now(UTC))
        ledger.append(SCHEMA_VERSIONS, [moment])


def send(dag, form: dict[str, object], done: str | None = None) -> dict[str, str]:
    heard = io.StringIO()
    with redirect_stdout(heard):
        ended = dag.test(run_conf=form, mark_success_pattern=done)
    task, *_ = sorted(ended.get_task_instances(), key=lambda each: each.task_id, reverse=True)
    said = task.xcom_pull(task_ids=task.task_id) or ""
    return {"state": str(ended.state), "said": said, "output": heard.getvalue()}


if __name__ == "__main__":
    ledger = Ledger(Settings.from_environment())
    hold(ledger)
    dags = BundleDagBag(DAGS, bundle_path=DAGS, bundle_name="dags").dags
    runs = {name: send(dags["approve_inventory"], form) for name, form in FORMS.items()}
    runs |= {name: send(dags["signal_inventory"], form) for name, form in SIGNALS.items()}
    key = {"table": "public.orders"}
    runs["rekeyed"] = send(dags["primary_key_inventory"], key, PAUSED)
    rows = [
        (row.decision, row.verdict, row.change_kinds)
        for row in Ledger(Settings.from_environment()).schema_versions("inventory")
    ]
    print(json.dumps({"runs": runs, "rows": rows}))
