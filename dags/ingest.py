"""# Change events of one source, from Kafka to published tables.

**land** appends raw messages to `bronze.<source>` · **check** judges schema changes · **apply**
stages row changes · **validate** judges the staged rows · **publish** makes them one cut.
A scheduled run lands what came until its data interval ended, one that you trigger what there is.

**Once more:** clear a task, or start a backfill with *Trigger → Backfill*; any run, in any order,
any number of times, ends in the same tables. Clearing `land` lands nothing twice. A backfill makes
the rows that its interval's messages touch again from bronze, with today's code and TOML file: the
last line of the log of `apply` says what differed, and is the run's note. The configuration
`{"tables": ["public.orders"]}` narrows it to these tables.

**When a task failed:** its log starts with one sentence that says what was expected and what to
do. Nothing of a run that failed before `publish` is visible to readers. `land`: Kafka, or messages
that are gone; `check`: a schema change that waits for approval; `validate`: `lakehouse report
--source <source>`; `publish`, superseded: another run went ahead, start a new one; behind a cut
that is published: a table is kept back, or a critical expectation about a topic failed.
"""

from __future__ import annotations

from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, chain

from lakehouse.config import Settings, SourceConfig, load_readable
from lakehouse.names import bronze_table
from lakehouse.plan.records import STEPS, Step
from lakehouse_dags.alerts import freshness_deadline
from lakehouse_dags.operators import RecordedStep, SubmittedRun, task_defaults
from lakehouse_dags.submitted import SubmittedStep


def step_task(source: SourceConfig, step: Step) -> SubmittedStep:
    """The task of one step, as the source's isolation asks for it."""
    shared = RecordedStep if step != "land" else SubmittedRun
    operator = shared if source.schedule.isolation == "run" else SubmittedStep
    assets = {
        "land": [Asset(bronze_table(source.name))],
        "publish": [Asset(f"silver.{source.name}")],
    }
    return operator(source=source, step=step, outlets=assets.get(step, []))


for source in load_readable(Settings.from_environment()).sources:
    with DAG(
        dag_id=f"ingest_{source.name}",
        description=f"Change events of {source.name} ({source.connector}) as published tables",
        doc_md=__doc__,
        schedule=CronDataIntervalTimetable(source.schedule.interval, timezone="UTC"),
        start_date=source.schedule.start,
        catchup=False,
        max_active_runs=1,
        tags={"ingest", source.connector},
        default_args=task_defaults(source),
        deadline=freshness_deadline(source),
    ):
        chain(*(step_task(source, step) for step in STEPS))
