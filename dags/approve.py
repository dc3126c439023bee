"""# Decide about a table of one source that a schema change holds.

*Trigger* opens a form: the **table** as in the TOML file, **approve** or **reject**, and, where a
column that went and one that came are the same one, its old and new name as `old=new`. The tables
that wait, and why, are in the report of the newest run and in `lakehouse tables`.

The decision counts from the next run of `ingest_<source>` on: the table goes on from where it
stopped, and nothing is lost. It does what `lakehouse approve` does, and a second decision replaces
the first.

**When a task failed:** its log starts with one sentence that says what was expected: a table that
is held, or a change that silver can follow.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param

from lakehouse.config import Settings, load_readable
from lakehouse_dags.approvals import Approval

for source in load_readable(Settings.from_environment()).sources:
    with DAG(
        dag_id=f"approve_{source.name}",
        description=f"Decide about a table of {source.name} that a schema change holds",
        doc_md=__doc__,
        schedule=None,
        start_date=source.schedule.start,
        catchup=False,
        # Nothing runs unless a person sends the form.
        is_paused_upon_creation=False,
        max_active_runs=1,
        tags={"approve", source.connector},
        params={
            "table": Param(
                type="string",
                minLength=1,
                # Known without a network; any other table may be typed.
                examples=sorted(source.tables),
                description="The held table as in the TOML file, such as public.orders",
            ),
            "action": Param("approve", enum=["approve", "reject"]),
            "renames": Param(
                [],
                # Null is a field that a person has emptied.
                type=["null", "array"],
                items={"type": "string", "pattern": "^[^=]+=.+$"},
                description="Columns that were renamed, one a line: old=new",
            ),
        },
        default_args={"owner": "lakehouse", "pool": f"ingest_{source.name}"},
    ):
        Approval(source=source.name)
