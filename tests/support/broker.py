"""One Kafka broker of a test's own, which it may kill; it leaves nothing behind.

It answers on a loopback port without TLS and login, where a test does what nobody else may.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from infra.home import StackHome
from infra.ports import LOOPBACK, choose_ports
from infra.processes import ProcessRecord, is_running
from infra.servers.kafka import kafka_server
from infra.servers.server import Server, start_server
from infra.stopping import end_server

_HEAP_MB = 256
# One that was killed is taken for gone after 9 s, and starts no earlier.
_QUICK = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


@dataclass
class Broker:
    """A broker that runs, or did.

    Attributes:
        server: How it is started.
        ports: Name → port: `plain`, `controller`, and those that were asked for.
    """

    home: StackHome
    ports: Mapping[str, int]
    server: Server
    _record: ProcessRecord | None = field(default=None, init=False)

    @property
    def address(self) -> str:
        """Where it answers without TLS and login."""
        return f"{LOOPBACK}:{self.ports['plain']}"

    @property
    def pid(self) -> int:
        """Its process, once it was started."""
        assert self._record is not None
        return self._record.pid

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._record is not None and is_running(self._record)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        start_server(self.server, self.home, started=self._started, cancelled=threading.Event())

    def kill(self) -> None:
        """End it as a power cut does: SIGKILL, at once."""
        os.kill(self.pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        """End it, however it stands."""
        end_server(self.home, "kafka", self._record)

    def _started(self, record: ProcessRecord) -> None:
        self._record = record


@contextmanager
def running_broker(folder: Path, **listeners: Mapping[str, str]) -> Iterator[Broker]:
    """A broker in a folder, until the end.

    Args:
        folder: Becomes its home.
        listeners: Name → properties of one listener more, at a port of that name; `{port}` in them
            stands for it, and `{plain}` and `{controller}` for the others.
    """
    home = StackHome(folder)
    home.prepare()
    ports = choose_ports(("plain", "controller", *listeners), {})
    settings = _QUICK | {
        name: text.format(port=ports[listener], **ports)
        for listener, properties in listeners.items()
        for name, text in properties.items()
    }
    server = kafka_server(
        home, ports["plain"], ports["controller"], settings=settings, heap_mb=_HEAP_MB
    )
    broker = Broker(home, ports, replace(server, deadline_s=60.0))
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()
