"""The tasks of a rebuild Dag: one application builds, validates and publishes.

The form's values are added to the application's arguments when a task runs, so that no template is
looked for in them.
"""

from __future__ import annotations

import json
from typing import Any

from airflow.sdk import Context

from lakehouse.config import SourceConfig
from lakehouse.plan.records import Step
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.plan.submission import REBUILD_RUN, Run, asked
from lakehouse_dags.dag_run import RUN_ID, STARTED
from lakehouse_dags.operators import RecordedStep
from lakehouse_dags.recorded import from_xcom
from lakehouse_dags.submitted import STEPS_KEY, SubmittedStep, run_try

TASK = "rebuild"


def submission(step: Step) -> tuple[None, Run]:
    """The application of all steps, from one on; without a data interval: bronze has no end."""
    run_id = REBUILD_RUN + RUN_ID
    return None, Run(run_id=run_id, started=STARTED, from_step=step, land_decides=True)


class Rebuilding(SubmittedStep):
    """Makes the tables of the form again, and goes on to validate and publish them."""

    run_prefix = REBUILD_RUN

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        super().__init__(source=source, step="apply", task_id=TASK, **options)

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """All steps from this one on."""
        return submission(step)

    def messages(self) -> None:
        """All that bronze has."""

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]
        """Submit the application with the form's values."""
        params = context["params"]
        rebuild = Rebuild(tuple(params["tables"] or ()), params["undo"])
        self.application_args = [*(self.application_args or []), *asked(rebuild)]
        return super().execute(context)


class RebuiltStep(RecordedStep):
    """Shows what the application recorded for a later step; nothing, where no table differed."""

    run_prefix = REBUILD_RUN
    first_task = TASK

    def submission(self, step: Step) -> tuple[Step | None, Run]:
        """All steps from this one on, of a rebuild."""
        script, run = submission(step)
        return script, run

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]
        """End as the step's row says."""
        handed = context["ti"].xcom_pull(task_ids=TASK, key=STEPS_KEY)
        built = from_xcom(run_try(self.source_name, context, self.run_prefix), handed, "apply")
        if built is not None and "branch" not in json.loads(built.detail):
            self.log.info("nothing to %s: %s", self.step, built.message)
            return {"status": built.status, "message": built.message}
        self.application_args = [*(self.application_args or []), *asked(Rebuild())]
        return super().execute(context)
