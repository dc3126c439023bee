"""What a connector's configuration and version say about signals and notifications."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import SignalRefused
from lakehouse.names import TableIdentity, split_identifier

# First versions, each found in the tags of Debezium's repository.
CONDITION_SINCE = (2, 0)
SURROGATE_KEY_SINCE = (2, 2)
CHANNELS_SINCE = (2, 3)
CONDITIONS_SINCE = BLOCKING_SINCE = (2, 4)
_DOCUMENTATION = "https://debezium.io/documentation/reference/stable/configuration/signalling.html"


class Channel(StrEnum):
    """How a signal reaches the connector."""

    TABLE = "table"
    KAFKA = "kafka"


@dataclass(frozen=True, slots=True)
class SignalFacts:
    """What a running connector takes.

    Attributes:
        name: The connector in Kafka Connect.
        version: Its first two numbers.
        config: Its configuration, where the lists of captured tables are.
        tables: Parts of the name of each signal table; SQL Server may have several.
        signal_topic: None where it reads none.
        notification_topic: None where it tells nothing.
        database: Where a table's name begins with a database that the TOML file leaves out.
    """

    name: str
    version: tuple[int, int]
    config: Mapping[str, str]
    tables: tuple[tuple[str, ...], ...]
    signal_topic: str | None
    notification_topic: str | None
    database: str | None

    @property
    def reads_without_marks(self) -> bool:
        """Whether incremental snapshots need no signal table to mark their windows."""
        return self.config.get("read.only", "false").lower() == "true"

    def channel(self, wanted: Channel | None) -> Channel:
        """The channel to take; without a wish the signal table, which is read in order.

        Raises:
            SignalRefused: The connector does not have it, or has none.
        """
        has = {Channel.TABLE: bool(self.tables), Channel.KAFKA: self.signal_topic is not None}
        if wanted is not None and not has[wanted]:
            raise SignalRefused(f"connector {self.name}: {_MISSING[wanted]}; see {_DOCUMENTATION}")
        if not any(has.values()):
            raise SignalRefused(
                f"connector {self.name}: no channel for signals: {_MISSING[Channel.TABLE]}, or "
                f"{_MISSING[Channel.KAFKA]}; see {_DOCUMENTATION}"
            )
        return wanted or next(channel for channel, is_there in has.items() if is_there)

    def parts(self, table: TableIdentity, source: SourceConfig) -> tuple[str, ...]:
        """The parts of a table's name as the connector has them.

        Raises:
            SignalRefused: Its configuration does not say the database.
        """
        rules = CONNECTORS[source.connector]
        found = {
            "db": table.database or self.database,
            "schema": table.schema_name,
            "table": table.table,
        }
        parts = tuple(part for name in rules.collection_parts if (part := found[name]))
        if len(parts) < len(rules.collection_parts):
            raise SignalRefused(
                f"connector {self.name}: table {table.full_name}: expected its database in one of "
                f"{', '.join(rules.database_settings)}, with which its name begins in signals"
            )
        return parts


_MISSING = {
    Channel.TABLE: "expected signal.data.collection, and 'source' in signal.enabled.channels",
    Channel.KAFKA: "expected 'kafka' in signal.enabled.channels, and signal.kafka.topic",
}


def signal_facts(
    name: str, config: Mapping[str, str], version: str, source: SourceConfig
) -> SignalFacts:
    """Read a connector's configuration.

    Args:
        name: The connector in Kafka Connect.
        config: Its configuration; what is not there has Debezium's default.
        version: That of its plugin, such as `3.6.1.Final`.
        source: The source whose topics it writes.

    Raises:
        SignalRefused: It takes no signals, or its version cannot be read.
    """
    rules = CONNECTORS[source.connector]
    if not rules.signals:
        raise SignalRefused(f"source {source.name!r}: {rules.name} takes no signals")
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        raise SignalRefused(
            f"connector {name}: version {version!r}: expected one such as '3.6.1.Final', by which "
            "the form of its signals is known"
        )
    channels = _list(config.get("signal.enabled.channels", "source"))
    sinks = _list(config.get("notification.enabled.channels", ""))
    default_topic = f"{source.topic_prefix}-signal"
    return SignalFacts(
        name=name,
        version=(int(found[1]), int(found[2])),
        config=config,
        tables=signal_tables(config) if "source" in channels else (),
        signal_topic=config.get("signal.kafka.topic", default_topic)
        if "kafka" in channels
        else None,
        notification_topic=config.get("notification.sink.topic.name") if "sink" in sinks else None,
        database=next((config[each] for each in rules.database_settings if config.get(each)), None),
    )


def signal_tables(config: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    """The parts of the name of each signal table that a connector is told of."""
    names = _list(config.get("signal.data.collection", ""))
    return tuple(parts for name in names if (parts := split_identifier(name)))


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
