"""The tasks of the Dags of a source, each a kind of `submitted.SubmittedStep`."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Context

from lakehouse.config import Settings, SourceConfig
from lakehouse.plan.records import Step
from lakehouse.plan.submission import (
    FULL_RUN,
    MAINTENANCE_RUN,
    RECONCILE_RUN,
    Run,
    reconcile_application,
)
from lakehouse_dags.alerts import failure_alert
from lakehouse_dags.dag_run import BACKFILLED, RUN_ID, STARTED, UNTIL
from lakehouse_dags.recorded import find_steps, from_xcom
from lakehouse_dags.retries import RETRIES, RETRY_DELAY
from lakehouse_dags.submitted import STEPS_KEY, SubmittedStep, run_try
from lakehouse_dags.variables import database_variables


class FullValidation(SubmittedStep):
    """Judges all rows of the newest published cut, as a run of its own."""

    run_prefix = FULL_RUN

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """The step alone, without a data interval: what is published has no end."""
        return step, Run(run_id=self.run_prefix + RUN_ID, started=STARTED, full=True)


class Maintenance(SubmittedStep):
    """Maintains the tables of a source, as a run of its own; the task is named by the source."""

    run_prefix = MAINTENANCE_RUN

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """The step alone: maintenance has no data interval."""
        return step, Run(run_id=self.run_prefix + RUN_ID, started=STARTED)


class Reconciliation(FullValidation):
    """Compares the source's database with the newest published cut, as a run of its own."""

    run_prefix = RECONCILE_RUN

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        options = {"task_id": "reconcile", **options}
        application = str(reconcile_application())
        super().__init__(source=source, step="validate", application=application, **options)

    def secrets(self) -> dict[str, str]:
        """The login of the database."""
        return database_variables(self.source_name)


class SubmittedRun(SubmittedStep):
    """Runs all five steps in one application; only landing decides how this task ends."""

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """All steps from this one on."""
        run = Run(RUN_ID, STARTED, UNTIL, from_step=step, land_decides=True, since=BACKFILLED)
        return None, run


class RecordedStep(SubmittedRun):
    """Shows what the run's application recorded for a step.

    Where this try of the run has no row, or only the failure that an earlier try of this task has
    shown already, the application is submitted from this step on.
    """

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]
        """End as the step's row says."""
        tried = run_try(self.source_name, context, self.run_prefix)
        handed = context["ti"].xcom_pull(task_ids=self.first_task, key=STEPS_KEY)
        row = from_xcom(tried, handed, self.step)
        if row is None:
            row = find_steps(tried, Settings.from_environment()).get(self.step)
        is_retry = context["ti"].try_number > 1
        if row is None or (is_retry and row.status != "succeeded"):
            return super().execute(context)
        return self.end_as(row, context)


def task_defaults(source: SourceConfig) -> dict[str, object]:
    """What the submitted tasks of a source have in common, as a Dag's `default_args`."""
    return {
        "owner": "lakehouse",
        # One slot: backfill runs are not counted by max_active_runs.
        "pool": f"ingest_{source.name}",
        "weight_rule": "upstream",
        "retries": RETRIES,
        "retry_delay": RETRY_DELAY,
        "execution_timeout": source.schedule.timeout,
        "on_failure_callback": failure_alert(source),
    }
