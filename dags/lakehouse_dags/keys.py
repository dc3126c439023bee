"""The tasks of the Dag that changes a primary key: two questions to a person, and `lakehouse key`.

The form's values reach the command as arguments of a process, never through a shell or a template;
logins reach it through its environment.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.sdk import BaseOperator, BaseSensorOperator, Context, PokeReturnValue
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from lakehouse.config import SourceConfig
from lakehouse.plan.signals.form import FOLLOWED_S, GOES_ON
from lakehouse_dags.operators import Reconciliation, task_defaults
from lakehouse_dags.retries import RETRIES, RETRY_DELAY
from lakehouse_dags.variables import database_variables, environment, kafka_variables

# The console command beside the Python that Airflow runs with.
_COMMAND = Path(sys.executable).with_name("lakehouse")
_LONGEST_S = 600
# The task that drains; what it prints last goes to the one that follows.
DRAIN = "drain"


def paused() -> ApprovalOperator:
    """Asks whether nobody writes to the table anymore."""
    return ApprovalOperator(
        task_id="pause",
        subject="Pause all that writes to {{ params.table }}",
        body="Approve once nobody writes to it. Until the Dag is through nothing may.",
        fail_on_reject=True,
    )


def changed() -> HITLOperator:
    """Waits until the key is changed. It knows no rejection: the connector has to start again."""
    return HITLOperator(
        task_id="change",
        subject="Change the primary key of {{ params.table }} in the source",
        body=(
            "The connector is stopped, and all rows are published. Change the key, then go on. "
            "To give up, leave the old key, or put it back, and go on: nothing changes then."
        ),
        options=["Go on"],
    )


class KeyStep(BaseOperator):
    """Runs one action of `lakehouse key`; what it says goes to XCom."""

    def __init__(self, *, source: SourceConfig, action: str, **options: Any) -> None:  # noqa: ANN401
        super().__init__(task_id=action, retries=RETRIES, retry_delay=RETRY_DELAY, **options)
        self.source_name = source.name
        self.kafka_connection = source.kafka.connection
        self.action = action

    def given(self, context: Context) -> list[str]:  # noqa: ARG002 - the next class needs it
        """The arguments behind the action."""
        return []

    def execute(self, context: Context) -> str:
        """Run the command."""
        arguments = ["key", f"--source={self.source_name}", self.action, *self.given(context)]
        return run_key(arguments, self.source_name, self.kafka_connection, self.log.info)


class Follow(KeyStep):
    """Gives silver the new key."""

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        super().__init__(source=source, action="follow", **options)

    def given(self, context: Context) -> list[str]:
        """What was drained, and who changes the key."""
        person = context["dag_run"].triggering_user_name or "airflow"
        return [f"--by={person}", "--", str(context["ti"].xcom_pull(task_ids=DRAIN))]


class Drain(BaseSensorOperator):
    """Looks for a while whether the table is drained, and then makes room for other tasks."""

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        super().__init__(
            task_id=DRAIN,
            mode="reschedule",
            poke_interval=10,
            timeout=timedelta(days=1).total_seconds(),
            **options,
        )
        self.source_name = source.name
        self.kafka_connection = source.kafka.connection

    def poke(self, context: Context) -> PokeReturnValue:
        """Run `lakehouse key drain`; what still has to come is in the log."""
        given = [f"--table={context['params']['table']}", f"--for={FOLLOWED_S}"]
        arguments = ["key", f"--source={self.source_name}", DRAIN, *given]
        try:
            said = run_key(arguments, self.source_name, self.kafka_connection, self.log.info)
        except NotDrained as goes_on:
            self.log.info("%s", goes_on)
            return PokeReturnValue(is_done=False)
        return PokeReturnValue(is_done=True, xcom_value=said)


class NotDrained(AirflowException):
    """What is waited for goes on."""


class Verified(Reconciliation):
    """Compares the table with silver under its new key."""

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        # It waits for cuts: in the source's pool, which has one slot, none would come.
        shared = {**task_defaults(source), "pool": "default_pool"}
        super().__init__(source=source, task_id="verify", **{**shared, **options})

    def execute(self, context: Context) -> dict[str, object]:  # type: ignore[override]
        """Submit the application with the form's table."""
        table = f"--table={context['params']['table']}"
        self.application_args = [*(self.application_args or []), table]
        return super().execute(context)


def run_key(arguments: list[str], source: str, kafka_connection: str, log: Any) -> str:  # noqa: ANN401
    """Run `lakehouse key`; the last line that it prints.

    Raises:
        NotDrained: What it waits for goes on.
        AirflowFailException: It was refused; its message says why.
    """
    with environment(kafka_variables(kafka_connection) | database_variables(source)):
        done = subprocess.run(
            [str(_COMMAND), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST_S,
        )
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    said = errors[-1] if errors else done.stderr.strip()
    if done.returncode == GOES_ON:
        raise NotDrained(said)
    if done.returncode != 0:
        raise AirflowFailException(said or f"exit code {done.returncode}")
    log("%s", f"{said}\n{done.stdout}".strip())
    return done.stdout.splitlines()[-1]
