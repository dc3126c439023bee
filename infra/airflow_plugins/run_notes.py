"""An Airflow plugin: the note of a backfill's run says what it changed.

A task cannot write the note of its run, the scheduler can: when a run has succeeded, what its task
`apply` handed over becomes the note, which the UI shows in the list of runs.
"""

from __future__ import annotations

from airflow.listeners import hookimpl
from airflow.models.dagrun import DagRun
from airflow.models.xcom import XComModel
from airflow.plugins_manager import AirflowPlugin
from sqlalchemy.orm import object_session

# So much text a note can have (airflow.models.dagrun.DagRunNote).
_MOST = 1000


class RunNotes:
    """Listens to the runs of Airflow."""

    @hookimpl
    def on_dag_run_success(self, dag_run: DagRun, msg: str) -> None:  # noqa: ARG002 - Airflow's
        """Write the note, if the run has something to say."""
        session = object_session(dag_run)
        if session is None or not dag_run.dag_id.startswith("ingest_"):
            return
        handed = XComModel.get_many(
            run_id=dag_run.run_id,
            dag_ids=dag_run.dag_id,
            task_ids="apply",
            key="return_value",
            limit=1,
        )
        row = session.scalars(handed).first()
        value = None if row is None else XComModel.deserialize_value(row)
        if isinstance(value, dict) and value.get("note"):
            dag_run.note = str(value["note"])[:_MOST]


class LakehouseNotes(AirflowPlugin):
    """What Airflow loads."""

    name = "lakehouse_notes"
    listeners = [RunNotes()]  # noqa: RUF012 - as Airflow has it
