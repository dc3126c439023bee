"""# One source's database against its silver tables, once a day.

Rows are counted and hashed on both sides, at a known place of the source's log, and where they
differ the keys are named. Rows that change meanwhile are looked at again behind a later published
cut, so that `ingest_<source>` has to go on. Nothing is changed. *Trigger* compares at once, as
`lakehouse reconcile --source <source>` does.

The login comes from the Airflow connection `database_<source>` (host, port, login, password,
schema); a right to read is enough. Where it is quiet, a row that differs can only be told from one
that is still on its way if `reconcile.marker` in the TOML file names a signal table for a row.

**When a task failed:** its log starts with one sentence that says how many keys of which table
differ; `lakehouse report --source <source>` names them.
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable

from lakehouse.config import Settings, load_readable
from lakehouse.plan.reconciling.kinds import DATABASES
from lakehouse_dags.operators import Reconciliation, task_defaults

for source in load_readable(Settings.from_environment()).sources:
    if source.connector not in DATABASES:
        continue
    with DAG(
        dag_id=f"reconcile_{source.name}",
        description=f"The database of {source.name} against its silver tables, once a day",
        doc_md=__doc__,
        schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
        start_date=source.schedule.start,
        catchup=False,
        max_active_runs=1,
        tags={"reconcile", source.connector},
        # It waits for cuts: in the source's pool, which has one slot, none would come.
        default_args={**task_defaults(source), "pool": "default_pool"},
    ):
        Reconciliation(source=source)
