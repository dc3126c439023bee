"""Moments of a run of Airflow's at which something is to befall it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.airflow_api import AirflowApi, DagRun
from lakehouse.config import Settings
from lakehouse.names import bronze_table
from lakehouse.plan.records import Step
from lakehouse.plan.submission import MAINTENANCE_RUN
from lakehouse.spark.control.lease_table import LeaseTable
from lakehouse.spark.control.ledger import Ledger
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import until
from tests.support.processes import command_lines

_ROOT = Path(__file__).resolve().parents[3]
NAME = "shop"
DAG = f"ingest_{NAME}"


@dataclass(frozen=True)
class Moment:
    """What a run is at.

    Attributes:
        name: As in `while applying`.
        task: The one that works then; all steps of a run of ingest are one application, which the
            first task starts.
        marks: What the command line of the process that does the work has.
        has_come: Whether the run of an id is there, by its source's catalog.
        form: What a person fills in.
    """

    name: str
    dag: str
    task: str
    marks: tuple[bytes, ...]
    has_come: Callable[[Ledger, str], bool] = lambda _, __: True
    form: Mapping[str, object] = field(default_factory=dict)


def _holds(prefix: str = "") -> Callable[[Ledger, str], bool]:
    """The run has its source's lease, as of `apply` or of maintenance; landing takes none."""

    def has_come(ledger: Ledger, run_id: str) -> bool:
        lease = LeaseTable(ledger.catalog, NAME).current()
        return lease is not None and lease.run_id == prefix + run_id and lease.holder is not None

    return has_come


def _stages(ledger: Ledger, run_id: str) -> bool:
    """The run's messages are being written to a branch of bronze that nobody reads."""
    if not ledger.catalog.table_exists(bronze_table(NAME)):
        return False
    refs = ledger.catalog.load_table(bronze_table(NAME)).metadata.refs
    return any(name.startswith(f"landing_{run_id}_") for name in refs)


def _did(step: Step) -> Callable[[Ledger, str], bool]:
    return lambda ledger, run_id: any(
        row.run_id == run_id and row.step == step for row in ledger.runs(NAME)
    )


def _application(job: str) -> tuple[bytes, ...]:
    """Of this checkout: another one may have a source of the same name at work."""
    return (b"SparkSubmit", bytes(_ROOT / "jobs" / f"{job}.py"), f'"name":"{NAME}"'.encode())


_RUN = _application("run")
_MAINTAIN = _application("maintain")
_SEND = (bytes(Path(sys.executable).with_name("lakehouse")) + b"\0signal\0", NAME.encode())
LANDING = Moment("landing", DAG, "land", _RUN, _stages)
LANDED = Moment("going on behind land", DAG, "land", _RUN, _did("land"))
APPLYING = Moment("applying", DAG, "land", _RUN, _holds())
PUBLISHING = Moment("publishing", DAG, "land", _RUN, _did("validate"))
VALIDATING = Moment("validating", DAG, "land", _RUN, _did("apply"))
MAINTAINING = Moment("maintaining", "maintain", NAME, _MAINTAIN, _holds(MAINTENANCE_RUN))
# Where each step is an application, which a task of its own starts.
ALONE = (
    Moment("checking", DAG, "check", _application("check"), _did("land")),
    Moment("applying", DAG, "apply", _application("apply"), _holds()),
    Moment("validating", DAG, "validate", _application("validate"), _did("apply")),
    Moment("publishing", DAG, "publish", _application("publish"), _did("validate")),
)
SENDING = Moment(
    "sending",
    f"signal_{NAME}",
    "send",
    _SEND,
    form={"tables": ["shop.customers"], "channel": "kafka"},
)


@dataclass(frozen=True)
class AtWork:
    """A run at a moment, which goes on.

    Attributes:
        settings: With the files that Airflow reads.
    """

    stack: Stack
    api: AirflowApi
    settings: Settings
    moment: Moment
    run: DagRun

    @property
    def path(self) -> str:
        """Of the run in Airflow's interface."""
        return f"dags/{self.run.dag_id}/dagRuns/{self.run.run_id}"

    @property
    def task_path(self) -> str:
        """Of the task that works at the moment."""
        return f"{self.path}/taskInstances/{self.moment.task}"


def begin(stack: Stack, api: AirflowApi, settings: Settings, moment: Moment, run_id: str) -> AtWork:
    """Start a run, and wait for the moment."""
    api.await_dag(moment.dag)
    run = api.trigger(moment.dag, run_id, moment.form)

    def has_come() -> bool:
        return bool(working(moment)) and moment.has_come(Ledger(stack.settings), run_id)

    until(has_come, f"{run_id}: expected it to be {moment.name}", 400, poll_s=0.1)
    return AtWork(stack, api, settings, moment, run)


def working(moment: Moment) -> list[int]:
    """The processes that do the work."""
    lines = command_lines().items()
    return [pid for pid, line in lines if all(mark in line for mark in moment.marks)]
