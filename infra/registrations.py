"""Connector registrations of the local stack, derived from the TOML files of the sources.

A registration never holds a password, only where the worker finds it, so that Connect's REST
interface, its config topic and its logs stay free of secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.connector_settings import BY_ENGINE, COMMON
from infra.errors import StackError
from infra.sources import DEBEZIUM, SAMPLE_SOURCES, Database, Engine, SampleSource
from lakehouse.config import SourceConfig

CONNECTOR_CLASSES = {
    Engine.POSTGRESQL: "io.debezium.connector.postgresql.PostgresConnector",
    Engine.MYSQL: "io.debezium.connector.mysql.MySqlConnector",
    Engine.MARIADB: "io.debezium.connector.mariadb.MariaDbConnector",
}
SIGNAL_TABLE = "debezium_signal"
PUBLICATION = "debezium"
SECRETS_FILE = "connect.properties"

# A replica's id must differ from that of every server and every other replica.
_FIRST_SERVER_ID = 5_400


@dataclass(frozen=True, slots=True)
class Registration:
    """One connector as Connect takes it.

    Attributes:
        topics: Topics with one partition that have to exist before the connector starts, each
            with its topic configuration.
    """

    name: str
    config: Mapping[str, str]
    topics: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a registration needs to know of the running stack.

    Attributes:
        kafka: How the connector reaches the broker, as properties of Java's clients.
        secrets: The folder of passwords.
        data_partitions: Of each data topic that the connector makes.
    """

    kafka: Mapping[str, str]
    secrets: Path
    data_partitions: int = 1

    def login(self, prefix: str) -> dict[str, str]:
        """How a client of the connector's own logs in, its properties behind a prefix."""
        login = {name: text for name, text in self.kafka.items() if name != "bootstrap.servers"}
        return {f"{prefix}.{name}": text for name, text in login.items()}


def plan_registration(
    source: SourceConfig, database: Database, surroundings: Surroundings
) -> Registration:
    """The connector of one source of the local stack.

    Args:
        source: The TOML file's content.
        database: Where the rows are; its login is not used.
        surroundings: The rest of the running stack.

    Raises:
        StackError: the TOML file names another connector than the sample database has.
    """
    sample = SAMPLE_SOURCES[source.name]
    if source.connector != sample.engine:
        raise StackError(
            f"Source {source.name!r}: connector {source.connector!r}: expected "
            f"{sample.engine.value!r}, since that is where the stack's sample database is; "
            "correct the TOML file, or give your own source another name"
        )
    settings = (*COMMON, *BY_ENGINE[sample.engine])
    config = {
        "connector.class": CONNECTOR_CLASSES[sample.engine],
        "topic.prefix": source.topic_prefix,
        "topic.creation.default.partitions": str(surroundings.data_partitions),
        "database.hostname": database.host,
        "database.port": str(database.port),
        "database.user": DEBEZIUM,
        "database.password": f"${{file:{surroundings.secrets / SECRETS_FILE}:{DEBEZIUM}}}",
        **{setting.name: setting.value for setting in settings},
        **_captured(source, sample, surroundings),
        **_channels(source, surroundings),
    }
    return Registration(source.name, dict(sorted(config.items())), _control_topics(source))


def _captured(
    source: SourceConfig, sample: SampleSource, surroundings: Surroundings
) -> dict[str, str]:
    if sample.engine is Engine.POSTGRESQL:
        return {
            "database.dbname": sample.name,
            "schema.include.list": sample.captured_schema,
            "slot.name": f"debezium_{sample.name}",
            "publication.name": PUBLICATION,
        }
    history = "schema.history.internal.kafka"
    return {
        "database.include.list": sample.captured_schema,
        "database.server.id": str(_FIRST_SERVER_ID + sorted(SAMPLE_SOURCES).index(sample.name)),
        f"{history}.topic": history_topic(source),
        f"{history}.bootstrap.servers": surroundings.kafka["bootstrap.servers"],
        **surroundings.login("schema.history.internal.producer"),
        **surroundings.login("schema.history.internal.consumer"),
    }


def _channels(source: SourceConfig, surroundings: Surroundings) -> dict[str, str]:
    """Where signals come in and notifications go out."""
    tables = [name for name in source.control_tables if name.endswith(f".{SIGNAL_TABLE}")]
    channels = ["source"] if tables else []
    config = {"signal.data.collection": tables[0]} if tables else {}
    if source.kafka.signals:
        channels.append("kafka")
        config["signal.kafka.topic"] = source.kafka.signals
        config["signal.kafka.groupId"] = source.kafka.signals
        config["signal.kafka.bootstrap.servers"] = surroundings.kafka["bootstrap.servers"]
        config |= surroundings.login("signal.consumer")
    if channels:
        config["signal.enabled.channels"] = ",".join(channels)
    return config | {"notification.sink.topic.name": notification_topic(source)}


def history_topic(source: SourceConfig) -> str:
    """Where the connector keeps the schemas that it has seen."""
    return source.kafka.schema_history or f"schema-history.{source.topic_prefix}"


def notification_topic(source: SourceConfig) -> str:
    """Where the connector tells how far its snapshots are."""
    return source.kafka.notifications or f"notifications.{source.topic_prefix}"


def _control_topics(source: SourceConfig) -> dict[str, dict[str, str]]:
    # Made before the connector, so that a reader finds them all from the start, and with one
    # partition whatever the number of the data topics is: their order matters.
    kafka = source.kafka
    with_schema_changes = SAMPLE_SOURCES[source.name].engine is not Engine.POSTGRESQL
    named = (
        kafka.transactions,
        kafka.heartbeat,
        notification_topic(source),
        kafka.signals,
        kafka.schema_changes if with_schema_changes else None,
    )
    # The connector needs its whole history at each start.
    forever = {"retention.ms": "-1", "retention.bytes": "-1"}
    history = {} if kafka.schema_history is None else {kafka.schema_history: forever}
    return {topic: {} for topic in named if topic is not None} | history
