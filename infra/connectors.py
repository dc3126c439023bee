"""Registers a connector and sees that it runs, also after it was killed in a bad moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from infra.clients import KafkaAdmin
from infra.connect_api import ConnectApi
from infra.errors import NotReady
from infra.registrations import Registration
from infra.servers.server import wait_until

_DEADLINE_S = 90
# A MySQL or MariaDB connector that was stopped before its source snapshot had reached a table
# may have stored an offset without a position, and never starts again with it:
# "Source offset 'file' parameter is missing".
_USELESS_OFFSET = "parameter is missing"


class _OffsetIsUseless(Exception):
    """The stored offset has no position, so nothing is lost by forgetting it."""


@dataclass(frozen=True, slots=True)
class ConnectorStart:
    """One start of one connector; ends early when `cancelled` is set."""

    api: ConnectApi
    admin: KafkaAdmin
    registration: Registration
    cancelled: Event
    log: Path

    def run(self) -> None:
        """Make the control topics, register the connector, wait until its task runs.

        Raises:
            StackError: Connect refuses the configuration, or the task does not run in time.
        """
        self._await(self._register, "registration of")
        try:
            self._await(self._probe, "")
        except _OffsetIsUseless:
            self._forget_offset()
            self._await(self._probe, "")

    def _await(self, probe: Callable[[], None], act: str) -> None:
        wait_until(
            probe,
            what=f"{act} connector {self.registration.name}".strip(),
            deadline_s=_DEADLINE_S,
            cancelled=self.cancelled,
            log=self.log,
        )

    def _register(self) -> None:
        for topic, config in self.registration.topics.items():
            self.admin.create_topic(topic, config=config)
        self.api.register(self.registration.name, self.registration.config)
        # It may have been stopped by an earlier start that left its database out.
        self.api.resume(self.registration.name)

    def _probe(self) -> None:
        name = self.registration.name
        status = self.api.status(name)
        if status.is_running:
            return
        reason = status.trace.partition("\n\tat ")[0] or f"tasks {list(status.tasks)}"
        if status.has_failed:
            if _USELESS_OFFSET in reason:
                raise _OffsetIsUseless(reason)
            # Its last start may have met a database that was not there yet.
            self.api.restart(name)
        raise NotReady(f"{status.connector}: {reason}")

    def _forget_offset(self) -> None:
        """Let the connector begin with a new source snapshot."""
        name = self.registration.name
        self.api.stop(name)
        # Refused until the tasks have ended.
        self._await(lambda: self.api.delete_offsets(name), "reset of")
        self._await(lambda: self.api.resume(name), "restart of")
