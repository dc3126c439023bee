"""# Snapshots on demand of one source: read tables again, or some of their rows.

*Trigger* opens a form. **execute** asks the connector to read **tables** again, `incremental` while
changes go on or `blocking`; **conditions** say which rows, one a line as `column operator value`
(`id > 100`, `state in ('open', 'paid')`, `public.orders.placed_on >= date '2026-01-01'`), and all
must hold. **stop** ends the incremental snapshot that runs, or leaves tables out of it, **pause**
and **resume** hold it up. Trigger them while the run that started it goes on.

**send** sends one signal; **follow** shows in its log how many chunks of each table are read, and
ends when the rows are published by a run of `ingest_<source>`. `lakehouse signal` does the same.

**When a task failed:** its log starts with one sentence that says what was expected. `send`: a
table that the connector does not capture, a condition that cannot be quoted, no channel; nothing
was sent. `follow`: the tables that were not read whole, and why; the others are.
"""

from __future__ import annotations

from airflow.sdk import DAG

from lakehouse.config import Settings, load_readable
from lakehouse_dags.retries import RETRIES, RETRY_DELAY
from lakehouse_dags.signals import FollowedSignal, SentSignal, fields

for source in load_readable(Settings.from_environment()).sources:
    with DAG(
        dag_id=f"signal_{source.name}",
        description=f"Snapshots of tables of {source.name} on demand",
        doc_md=__doc__,
        schedule=None,
        start_date=source.schedule.start,
        catchup=False,
        # Nothing runs unless a person sends the form.
        is_paused_upon_creation=False,
        # A snapshot that is followed can be stopped; neither task waits for a slot of `ingest`.
        max_active_runs=8,
        tags={"signal", source.connector},
        params=fields(source),
        default_args={"owner": "lakehouse", "retries": RETRIES, "retry_delay": RETRY_DELAY},
    ):
        SentSignal(source=source) >> FollowedSignal(source=source)
