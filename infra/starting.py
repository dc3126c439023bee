"""One start of the stack: its servers, side by side, and the connectors that join them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from infra.clients import kafka_admin
from infra.connect_api import ConnectApi
from infra.connectors import ConnectorStart
from infra.home import StackHome, write_private
from infra.kafka_grants import allow, connector_grants, lakehouse_grants, worker_grants
from infra.kafka_logins import (
    CONNECT,
    LAKEHOUSE,
    admit,
    connect_properties,
    lakehouse_properties,
)
from infra.ports import LOOPBACK
from infra.processes import is_running
from infra.provisioning import logins, provision
from infra.registrations import SECRETS_FILE, Surroundings, plan_registration
from infra.servers.server import Server, start_server, wait_until
from infra.sources import DEBEZIUM, SampleSource
from infra.state import StackState
from lakehouse.config import SourceConfig

_ANSWER_S = 60


@dataclass(slots=True)
class StackStart:
    """One start of the stack; its parts run in several threads.

    Attributes:
        show: Takes one line for each thing done, from one thread at a time.
        state: What runs so far; also in stack.json.
        started: The servers that this start has started, in order.
        cancelled: Ends every wait of this start.
    """

    home: StackHome
    show: Callable[[str], None]
    state: StackState
    started: list[str] = field(default_factory=list)
    cancelled: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def report(self, line: str) -> None:
        """Show one line."""
        with self._lock:
            self.show(line)

    def change(self, changed: Callable[[StackState], StackState]) -> None:
        """Change the state and write it to stack.json."""
        with self._lock:
            self.state = changed(self.state)
            self.state.write(self.home)

    def start(self, server: Server) -> None:
        """Start a server that does not run yet, and wait until it is ready."""
        record = self.state.find_process(server.name)
        if record is not None and is_running(record):
            self.report(f"{server.name} runs already")
            return
        begun = time.monotonic()
        self.started.append(server.name)
        start_server(
            server,
            self.home,
            started=lambda record: self.change(lambda state: state.with_process(record)),
            cancelled=self.cancelled,
        )
        port = self.state.ports.get(server.name)
        where = f" on {LOOPBACK}:{port}" if port else ""
        self.report(f"{server.name} ready{where} after {time.monotonic() - begun:.1f} s")

    def admit_to_kafka(self, sources: Sequence[SourceConfig]) -> None:
        """Give the lakehouse and Connect their logins; stack.json says how to use the first."""
        address = f"{LOOPBACK}:{self.state.ports['kafka']}"
        admin, passwords = kafka_admin(address).admin, self.home.passwords()
        admit(admin, LAKEHOUSE, passwords["kafka"])
        allow(admin, LAKEHOUSE, *(grant for each in sources for grant in lakehouse_grants(each)))
        admit(admin, CONNECT, passwords[CONNECT])
        written = (grant for each in sources for grant in connector_grants(each))
        allow(admin, CONNECT, *worker_grants(), *written)
        properties = lakehouse_properties(self.home, self.state.ports)
        self.change(lambda state: replace(state, kafka=address, lakehouse_kafka=properties))

    def fill(self, sample: SampleSource) -> None:
        """Make a sample database and say in stack.json how to reach it."""
        port = self.state.ports[sample.engine]
        provision(self.home, sample, port)
        owner, reader, signals = logins(self.home, sample, port)
        name = sample.name
        self.change(
            lambda state: replace(
                state,
                sources={**state.sources, name: owner},
                readers={**state.readers, name: reader},
                signals={**state.signals, name: signals},
            )
        )

    def connect(self, source: SourceConfig, data_partitions: int) -> None:
        """Register a source's connector and wait until its task runs.

        Raises:
            StackError: it does not run in time.
        """
        registration = plan_registration(
            source,
            self.state.sources[source.name],
            Surroundings(self.connect_login(), self.home.secrets, data_partitions),
        )
        ConnectorStart(
            ConnectApi(f"http://{LOOPBACK}:{self.state.ports['connect']}"),
            kafka_admin(f"{LOOPBACK}:{self.state.ports['kafka']}"),
            registration,
            self.cancelled,
            self.home.log("connect"),
        ).run()
        self.report(f"connector {registration.name} runs")

    def write_connector_secrets(self) -> None:
        """Write the file from which the Connect worker reads passwords."""
        passwords = self.home.passwords()
        lines = "".join(f"{name}={passwords[name]}\n" for name in (DEBEZIUM, CONNECT))
        write_private(self.home.secrets / SECRETS_FILE, lines)

    def connect_login(self) -> dict[str, str]:
        """How Connect and its connectors reach the broker."""
        return connect_properties(self.home.secrets / SECRETS_FILE, self.state.ports)

    def stop_other_connectors(self, wanted: tuple[str, ...]) -> None:
        """Stop connectors of an earlier start whose database is not started this time."""
        api = ConnectApi(f"http://{LOOPBACK}:{self.state.ports['connect']}")

        def stop() -> None:
            for name in api.connectors():
                if name not in wanted and name not in self.state.sources:
                    api.stop(name)

        wait_until(
            stop,
            what="stop of unused connectors",
            deadline_s=_ANSWER_S,
            cancelled=self.cancelled,
        )
