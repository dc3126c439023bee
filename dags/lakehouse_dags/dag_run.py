"""What a task's Dag run tells its application: as templates, and as tables of a backfill."""

from __future__ import annotations

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

# Rendered when the task runs.
RUN_ID = "{{ run_id }}"
STARTED = "{{ dag_run.start_date.isoformat() }}"
# A person's run lands what there is: its data interval, which the form of Airflow's page makes up
# and other ways leave out, ends where the schedule's last one did.
UNTIL = (
    "{{ (dag_run.run_after if dag_run.run_type == 'manual' else "
    "dag_run.data_interval_end or dag_run.run_after).isoformat() }}"
)
# A backfill makes the rows of its interval again; any other run makes none, and says so.
BACKFILLED = (
    "{{ dag_run.data_interval_start.isoformat() if dag_run.run_type == 'backfill' else '' }}"
)


def literal(text: str) -> str:
    """JSON text or a template of ours, such that Jinja finds nothing in the JSON to replace."""
    if not text.startswith('{"'):
        return text
    # In JSON these pairs occur inside strings only, where the escape means the same.
    for opening in ("{{", "{%", "{#"):
        text = text.replace(opening, "\\u007b" + opening[1])
    return text


def narrowed(context: Context) -> list[str]:
    """The arguments for the tables that a backfill's configuration names: `{"tables": […]}`.

    Raises:
        AirflowFailException: It names them as something else than a list of text, or says more.
    """
    run = context["dag_run"]
    if run.run_type != "backfill":
        return []
    told = run.conf or {}
    if more := sorted(told.keys() - {"tables"}):
        raise AirflowFailException(
            f"backfill: {', '.join(more):.200}: expected nothing but tables, such as "
            '{"tables": ["public.orders"]}; start the backfill again'
        )
    tables = told.get("tables", [])
    if not (isinstance(tables, list) and all(isinstance(each, str) for each in tables)):
        raise AirflowFailException(
            f"backfill: tables: {tables!r:.200}: expected a list of names as the TOML file has "
            'them, such as {"tables": ["public.orders"]}; start the backfill again'
        )
    # With = no value is taken for an option; they come when no template is looked for any more.
    return [f"--table={table}" for table in tables]
