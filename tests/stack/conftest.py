"""One stack for all tests of this folder: Kafka, Connect and the three sample databases.

It starts once, since that costs half a minute, and ends with the last test of the folder. Tests
may write to it, each to rows of its own; those of `with_airflow` add Airflow to the same stack
while they run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.clients import kafka_admin, run_sql
from infra.connect_api import ConnectApi
from infra.demo.barrier import Barrier
from infra.home import StackHome
from infra.sources import Database
from infra.stack import running_stack
from infra.state import StackState, read_state
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
