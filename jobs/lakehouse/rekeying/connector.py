"""Stops the source's connector, and lets it run again, through Kafka Connect's REST interface."""

from __future__ import annotations

import time
from dataclasses import dataclass

from infra.connect_api import ConnectApi
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import ConfigError, KeyChangeRefused, NotYet
from lakehouse.inspection.addresses import SAY_CONNECT, connect_url
from lakehouse.inspection.connectors import ConnectorFacts, read_connectors

_LOOK_S = 0.5
_STOPPED, _RUNNING = "STOPPED", "RUNNING"


@dataclass(frozen=True, slots=True)
class SourceConnector:
    """The one connector of a source."""

    api: ConnectApi
    facts: ConnectorFacts

    @property
    def slot(self) -> str:
        """Its replication slot in PostgreSQL."""
        return self.facts.config.get("slot.name", "debezium")

    @property
    def is_stopped(self) -> bool:
        """Whether it is stopped, and none of its tasks is there."""
        status = self.api.status(self.facts.name)
        return status.connector == _STOPPED and not status.tasks

    def stop(self, patience_s: float) -> str:
        """Stop it and wait until it is; what was read by then is in Kafka.

        Raises:
            NotYet: It goes on for longer.
        """
        self.api.stop(self.facts.name)
        self._await(_STOPPED, patience_s)
        return f"connector {self.facts.name} is stopped"

    def restart(self, patience_s: float) -> str:
        """Let it run again and wait until it does.

        Raises:
            NotYet: It does not run by then.
        """
        self.api.resume(self.facts.name)
        self._await(_RUNNING, patience_s)
        return f"connector {self.facts.name} runs"

    def _await(self, wanted: str, patience_s: float) -> None:
        end = time.monotonic() + patience_s
        while True:
            status = self.api.status(self.facts.name)
            if self.is_stopped if wanted == _STOPPED else status.is_running:
                return
            if status.has_failed:
                self.api.restart(self.facts.name)
            if time.monotonic() >= end:
                why = status.reason or ", ".join(status.tasks)
                raise NotYet(
                    f"connector {status.name}: {status.connector} ({why}): expected {wanted} "
                    f"within {patience_s:.0f} s; try again"
                )
            time.sleep(_LOOK_S)


def source_connector(source: SourceConfig, settings: Settings) -> SourceConnector:
    """The connector that writes the source's topics, whatever its state.

    Raises:
        ConfigError: Nobody says where Kafka Connect is.
        KeyChangeRefused: There is none, or there are several.
        NotReady: Kafka Connect gives no answer.
    """
    url = connect_url(settings)
    if url is None:
        raise ConfigError(
            f"source {source.name!r}: no address of Kafka Connect, which stops the connector: "
            f"{SAY_CONNECT}"
        )
    api = ConnectApi(url)
    found = read_connectors(api, source)
    if len(found) != 1:
        names = ", ".join(each.name for each in found) or "none"
        raise KeyChangeRefused(
            f"source {source.name!r}: connectors with topic.prefix {source.topic_prefix!r} at "
            f"{url}: {names}: expected one"
        )
    return SourceConnector(api, found[0])
