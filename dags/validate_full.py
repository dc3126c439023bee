"""# All rows of one source's newest published cut, judged once a day.

Each run of `ingest_<source>` judges the rows that it changes; this judges every row of every table
with the same suites, and so finds what a suite or a rule of today says of rows of long ago. It
publishes nothing and takes nothing back. *Trigger* judges at once, as
`lakehouse validate --source <source> --full` does.

**When a task failed:** its log starts with one sentence that says which expectation of which table
does not hold; the keys and their messages are in `lakehouse report --source <source>`. Where
nothing is published yet, nothing is judged: the task succeeds and says so ("no data").
"""

from __future__ import annotations

from airflow.sdk import DAG, CronDataIntervalTimetable

from lakehouse.config import Settings, load_readable
from lakehouse_dags.operators import FullValidation, task_defaults

for source in load_readable(Settings.from_environment()).sources:
    with DAG(
        dag_id=f"validate_{source.name}",
        description=f"All rows of the published tables of {source.name}, judged once a day",
        doc_md=__doc__,
        schedule=CronDataIntervalTimetable("@daily", timezone="UTC"),
        start_date=source.schedule.start,
        catchup=False,
        max_active_runs=1,
        tags={"validate", source.connector},
        default_args=task_defaults(source),
    ):
        FullValidation(source=source, step="validate")
