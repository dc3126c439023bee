"""One stack for all tests of this folder: Kafka, Connect and the three sample databases.

It starts once, since that costs half a minute, and ends with the last test of the folder. Tests
may write to it, each to rows of its own; a test that needs Airflow asks for `airflow`, which is
added to the same stack while the tests of its file run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from infra.clients import kafka_admin, run_sql
from infra.connect_api import ConnectApi
from infra.demo.barrier import Barrier
from infra.home import StackHome
from infra.sources import Database
from infra.stack import running_stack, up
from infra.state import AirflowAddress, StackState, read_state
from infra.stopping import end_servers, living_servers
from lakehouse.config import Settings, SourceConfig, load_source
from tests.stack.messages import KafkaReader

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Stack:
    """The running stack as tests use it; addresses are read anew, since a test restarts it."""

    settings: Settings

    @property
    def home(self) -> StackHome:
        return StackHome(self.settings.home)

    @property
    def state(self) -> StackState:
        return read_state(self.home)

    @property
    def kafka(self) -> KafkaReader:
        return KafkaReader(self.state.kafka, self.connect)

    @property
    def connect(self) -> ConnectApi:
        return ConnectApi(self.state.connect)

    def database(self, source: str) -> Database:
        return self.state.sources[source]

    def source(self, name: str) -> SourceConfig:
        return load_source(name, self.settings)

    def topics(self) -> dict[str, int]:
        return kafka_admin(self.state.kafka).topics()

    def barrier(self, source: str) -> Barrier:
        """A barrier that is passed: everything committed before is in Kafka, the snapshot too."""
        barrier = Barrier(
            self.source(source), self.database(source), self.state.kafka, threading.Event()
        )
        barrier.pass_one()
        return barrier

    def run(self, source: str, *statements: str) -> None:
        """Run statements as one transaction."""
        run_sql(self.database(source), f"BEGIN; {'; '.join(statements)}; COMMIT")


def settings_of(home: Path) -> Settings:
    return Settings.from_environment(
        {"LAKEHOUSE_HOME": str(home), "LAKEHOUSE_SOURCES": str(REPOSITORY / "dags" / "sources")}
    )


@pytest.fixture(scope="package")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The shared stack, without Airflow."""
    settings = settings_of(tmp_path_factory.mktemp("stack"))
    with running_stack(settings, airflow=False):
        yield Stack(settings)


@pytest.fixture(scope="module")
def airflow(stack: Stack) -> Iterator[AirflowAddress]:
    """Airflow, added to the shared stack, and ended before it slows other tests down."""
    state = up(stack.settings, airflow=True)
    assert state.airflow is not None
    yield state.airflow
    state = stack.state
    airflows = tuple(name for name in living_servers(stack.home) if name.startswith("airflow_"))
    end_servers(stack.home, state.processes, airflows, print)
    left = tuple(record for record in state.processes if record.server not in airflows)
    replace(state, airflow=None, processes=left).write(stack.home)
