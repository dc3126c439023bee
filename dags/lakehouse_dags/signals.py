"""The form and the tasks of a signal Dag: they run the console command, which needs no Spark.

The form's values reach the command as arguments of a process, never through a shell or a template;
logins reach it through its environment.
"""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, BaseSensorOperator, Context, Param, PokeReturnValue
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from lakehouse.config import SourceConfig
from lakehouse.errors import ConfigError
from lakehouse.plan.signals.form import ACTIONS, ANY, FOLLOWED_S, GOES_ON, Form, following, sending
from lakehouse_dags.variables import database_variables, environment, kafka_variables

# The console command beside the Python that Airflow runs with.
_COMMAND = Path(sys.executable).with_name("lakehouse")
_LONGEST_S = 300
# No broker, no Kafka Connect: another try may find them.
_UNREACHABLE = 7


def fields(source: SourceConfig) -> dict[str, Param]:
    """The fields; the tables that the file names are proposed, any other may be typed."""
    named = f"; the file names {', '.join(sorted(source.tables))}" if source.tables else ""
    raw = {"raw": _text("A condition in the source's own SQL")}
    return {
        "action": Param(ACTIONS[0], enum=list(ACTIONS)),
        "tables": _lines(f"Tables as in the TOML file, one a line{named}"),
        "type": Param("incremental", enum=["incremental", "blocking"]),
        "conditions": _lines("Which rows, one condition a line: id > 100"),
        "surrogate_key": _text("A column to order the rows by, where there is no key"),
        "channel": Param(ANY, enum=[ANY, "table", "kafka"]),
        **(raw if source.snapshot.raw_conditions else {}),
    }


class SentSignal(BaseOperator):
    """Sends the signal that the form describes, once for each try of the run."""

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        super().__init__(task_id="send", **options)
        self.source_name = source.name
        self.kafka_connection = source.kafka.connection

    def execute(self, context: Context) -> str:
        """Run `lakehouse signal`; the line by which it is followed goes to XCom."""
        run = f"{context['run_id']} {context['dag_run'].start_date}"
        person = context["dag_run"].triggering_user_name or "airflow"
        try:
            given = sending(self.source_name, Form.of(context["params"]), run, person)
        except ConfigError as wrong:
            raise AirflowFailException(str(wrong)) from None
        with environment(_logins(self.source_name, self.kafka_connection)):
            done = subprocess.run(
                [str(_COMMAND), *given],
                capture_output=True,
                text=True,
                check=False,
                timeout=_LONGEST_S,
            )
        if done.returncode != 0:
            raise _failure(done.returncode, done.stderr)
        self.log.info("%s", done.stderr.strip())
        return done.stdout.splitlines()[-1]


class FollowedSignal(BaseSensorOperator):
    """Shows what becomes of the signal, until its rows are published.

    It looks for a while and then makes room for other tasks, so that any number of snapshots can be
    followed while `ingest_<source>` runs.
    """

    def __init__(self, *, source: SourceConfig, **options: Any) -> None:  # noqa: ANN401
        super().__init__(
            task_id="follow",
            mode="reschedule",
            poke_interval=10,
            timeout=timedelta(days=7).total_seconds(),
            **options,
        )
        self.source_name = source.name
        self.kafka_connection = source.kafka.connection

    def poke(self, context: Context) -> PokeReturnValue:
        """Run `lakehouse signal follow`; each of its lines goes to the log at once."""
        sent = context["ti"].xcom_pull(task_ids="send")
        told: list[str] = []
        with (
            environment(_logins(self.source_name, self.kafka_connection)),
            subprocess.Popen(
                [str(_COMMAND), *following(self.source_name, str(sent))],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as running,
        ):
            for line in running.stdout or ():
                told.append(line.strip())
                self.log.info("%s", told[-1])
            code = running.wait(FOLLOWED_S + _LONGEST_S)
        if code not in (0, GOES_ON):
            raise _failure(code, told[-1] if told else "")
        return PokeReturnValue(is_done=code == 0, xcom_value=told[-1] if told else None)


def _lines(description: str) -> Param:
    """A field of several lines; Airflow makes null of one that a person has emptied."""
    return Param([], type=["null", "array"], items={"type": "string"}, description=description)


def _text(description: str) -> Param:
    """A field that may stay empty."""
    return Param(None, type=["null", "string"], description=description)


def _logins(source: str, kafka_connection: str) -> dict[str, str]:
    """What the command finds in its environment; without a connection it looks for its own."""
    return kafka_variables(kafka_connection) | database_variables(source)


def _failure(code: int, said: str) -> AirflowException:
    text = said.strip() or f"exit code {code}"
    return AirflowException(text) if code == _UNREACHABLE else AirflowFailException(text)
