"""# Silver tables of one source again from bronze.

*Trigger* opens a form: the **tables** as in the TOML file (none: all of the source), and **undo**
to put back what the newest rebuild replaced. It does what `lakehouse rebuild` does: builds the
tables on a branch, with today's code and TOML file, while runs of `ingest_<source>` go on; compares
them with the running ones; validates those that differ, and publishes them in their place in one
commit for each table. Readers have the old rows or the new ones, never none.

What differed, with up to 20 keys of each table, is in the log of **rebuild** and in the report. The
old state stays for `rebuild.undo` (7 days unless the TOML file says otherwise).

**When a task failed:** its log starts with one sentence that says what was expected. Nothing was
replaced unless `publish` succeeded; clear **rebuild** to do it all again.
"""

from __future__ import annotations

from airflow.sdk import DAG, Asset, Param, chain

from lakehouse.config import Settings, load_readable
from lakehouse_dags.operators import task_defaults
from lakehouse_dags.rebuilds import Rebuilding, RebuiltStep

for source in load_readable(Settings.from_environment()).sources:
    with DAG(
        dag_id=f"rebuild_{source.name}",
        description=f"Tables of {source.name} again from its landed messages",
        doc_md=__doc__,
        schedule=None,
        start_date=source.schedule.start,
        catchup=False,
        # Nothing runs unless a person sends the form.
        is_paused_upon_creation=False,
        max_active_runs=1,
        tags={"rebuild", source.connector},
        params={
            "tables": Param(
                [],
                # Null is a field that a person has emptied.
                type=["null", "array"],
                items={"type": "string", "minLength": 1},
                description="Tables as in the TOML file, one a line: public.orders. None: all",
            ),
            "undo": Param(
                False, type="boolean", description="Put back what the newest rebuild replaced"
            ),
        },
        # Not in the pool of the source: its runs go on while tables are built, and a lease keeps
        # the two apart where one has to wait.
        default_args={**task_defaults(source), "pool": "default_pool"},
    ):
        chain(
            Rebuilding(source=source),
            RebuiltStep(source=source, step="validate"),
            RebuiltStep(source=source, step="publish", outlets=[Asset(f"silver.{source.name}")]),
        )
