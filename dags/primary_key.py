"""# Change the primary key of a table of one source.

An event of PostgreSQL does not say under which key it was written, so that a key changes while
nobody writes to the table and the connector is stopped
([its manual](https://debezium.io/documentation/reference/stable/connectors/postgresql.html)).
*Trigger* opens a form: the **table** as in the TOML file. The columns of the new key are in the
table and filled before; runs of `ingest_<source>` go on all the time.

**pause** waits for you: pause all that writes to the table, then answer. **drain** waits until what
was written is published; it writes a row to the signal table that `reconcile.marker` in the TOML
file names. **stop** stops the connector. **change** waits for you: change the key (`ALTER TABLE …
DROP CONSTRAINT …, ADD PRIMARY KEY …`), then answer. **follow** gives silver the new key.
**restart** lets the connector run again. **verify** compares the table with silver under the new
key; when it is green, let the writers go on. `lakehouse key` does the same step by step.

**When a task failed:** its log starts with one sentence that says what was expected. From `stop` to
`restart` the connector stands still: to give up, put the old key back and clear `follow`.
"""

from __future__ import annotations

from airflow.sdk import DAG, Param, chain

from lakehouse.config import Settings, load_readable
from lakehouse_dags.keys import Drain, Follow, KeyStep, Verified, changed, paused

for source in load_readable(Settings.from_environment()).sources:
    if source.connector != "postgresql":
        continue
    with DAG(
        dag_id=f"primary_key_{source.name}",
        description=f"Change the primary key of a table of {source.name}, step by step",
        doc_md=__doc__,
        schedule=None,
        start_date=source.schedule.start,
        catchup=False,
        # Nothing runs unless a person sends the form.
        is_paused_upon_creation=False,
        max_active_runs=1,
        tags={"primary_key", source.connector},
        params={
            "table": Param(
                type="string",
                minLength=1,
                # Known without a network; any other table may be typed.
                examples=sorted(source.tables),
                description="The table as in the TOML file, such as public.orders",
            ),
        },
        default_args={"owner": "lakehouse"},
    ):
        chain(
            paused(),
            Drain(source=source),
            KeyStep(source=source, action="stop"),
            changed(),
            Follow(source=source),
            KeyStep(source=source, action="restart"),
            Verified(source=source),
        )
