"""# Smaller tables, the same rows: compaction, expiry and clean-up, once a day.

One task for each source. It merges small data files, rewrites those of which much is deleted,
drops the tags of cuts that `cuts.keep` in the TOML file no longer names and what dead runs left,
forgets the snapshots that nobody needs, and removes files that belong to no table. What readers of
a kept cut, a rebuild or a run that has staged rows need stays, and no query's result changes.
*Trigger* maintains at once, as `lakehouse maintain` does, which prints the figures of each table
before and after.

**When a task failed:** its log starts with one sentence that names the tables and the reasons; the
other tables are maintained. The next run goes on from there; clearing the task does so at once.
"""

from __future__ import annotations

from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable

from lakehouse.config import Settings, load_readable
from lakehouse.plan.records import MAINTAIN
from lakehouse_dags.operators import Maintenance, task_defaults

with DAG(
    dag_id="maintain",
    description="Compaction, expiry and clean-up of all tables, once a day",
    doc_md=__doc__,
    schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    tags={"maintain"},
):
    for source in load_readable(Settings.from_environment()).sources:
        Maintenance(source=source, step=MAINTAIN, task_id=source.name, **task_defaults(source))
