"""The task of an approval Dag: it runs the command, which needs no Spark.

The form's values reach the command as arguments of a process, never through a shell or a template.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException

from lakehouse.plan.submission import approval

# The console command beside the Python that Airflow runs with.
_COMMAND = Path(sys.executable).with_name("lakehouse")
_LONGEST_S = 300


class Approval(BaseOperator):
    """Records what a person decided about a held table."""

    def __init__(self, *, source: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__(task_id="decide", **options)
        self.source_name = source

    def execute(self, context: Context) -> str:
        """Run `lakehouse approve` with the form's values; what it says goes to XCom."""
        params = context["params"]
        given = approval(
            self.source_name,
            table=params["table"],
            action=params["action"],
            renames=params["renames"] or (),
            person=context["dag_run"].triggering_user_name or "airflow",
        )
        done = subprocess.run(
            [str(_COMMAND), *given],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_S,
        )
        self.log.info("%s", done.stdout)
        if done.returncode != 0:
            # A retry would find the same table and the same change.
            raise AirflowFailException(done.stderr.strip() or f"exit code {done.returncode}")
        return done.stdout
