"""Settings of the Debezium connectors, each with the reason why it is set.

Settings that are not here keep Debezium's default. Their manuals:
https://debezium.io/documentation/reference/stable/connectors/
"""

from __future__ import annotations

from dataclasses import dataclass

from infra.sources import Engine


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a connector and why it is set."""

    name: str
    value: str
    why: str


_JSON = "org.apache.kafka.connect.json.JsonConverter"

COMMON = (
    Setting("tasks.max", "1", "A connector reads one log: it never has more."),
    Setting("key.converter", _JSON, "Readable, and needs no schema registry."),
    Setting("value.converter", _JSON, "Readable, and needs no schema registry."),
    Setting("key.converter.schemas.enable", "true", "Types of keys are read from the message."),
    Setting(
        "value.converter.schemas.enable",
        "true",
        "The scale of a decimal and the unit of a time stand only in the schema.",
    ),
    Setting(
        "key.converter.replace.null.with.default",
        "false",
        "Kafka's default writes the column's default where the row holds NULL.",
    ),
    Setting(
        "value.converter.replace.null.with.default",
        "false",
        "Kafka's default writes the column's default where the row holds NULL.",
    ),
    Setting("decimal.handling.mode", "precise", "Doubles lose digits."),
    Setting("binary.handling.mode", "bytes", "Other modes look like text columns."),
    Setting("provide.transaction.metadata", "true", "A cut holds whole transactions only."),
    Setting("tombstones.on.delete", "true", "Compacted topics forget deleted keys."),
    Setting("skipped.operations", "none", "The default skips truncate events."),
    Setting(
        "event.processing.failure.handling.mode",
        "fail",
        "An event that cannot be decoded is never left out.",
    ),
    Setting("snapshot.mode", "initial", "Rows older than the log are read once."),
    Setting("heartbeat.interval.ms", "5000", "Stream time goes on while a source is quiet."),
    Setting("poll.interval.ms", "100", "Short runs see an event sooner."),
    Setting("signal.poll.interval.ms", "1000", "A signal is seen within a second."),
    Setting("notification.enabled.channels", "sink", "Progress of snapshots can be followed."),
    Setting("topic.creation.default.replication.factor", "1", "The stack has one broker."),
    Setting("topic.creation.default.cleanup.policy", "delete", "Every event stays readable."),
)

_BINLOG = (
    Setting("include.schema.changes", "true", "`check` judges the DDL of this topic."),
    Setting("include.schema.comments", "true", "A change of a comment is told, too."),
    Setting(
        "time.precision.mode",
        "adaptive_time_microseconds",
        "Times keep the precision of their column; a time of day may be negative.",
    ),
    Setting(
        "bigint.unsigned.handling.mode",
        "precise",
        "The default turns values from 2^63 on into negative ones, in keys too.",
    ),
    Setting(
        "inconsistent.schema.handling.mode",
        "fail",
        "A row that does not fit the known schema is never left out.",
    ),
    Setting(
        "schema.history.internal.store.only.captured.databases.ddl",
        "true",
        "DDL of other databases cannot stop the connector.",
    ),
    Setting(
        "schema.history.internal.store.only.captured.tables.ddl",
        "true",
        "DDL of tables that are not captured cannot stop the connector.",
    ),
)

BY_ENGINE: dict[Engine, tuple[Setting, ...]] = {
    Engine.POSTGRESQL: (
        Setting("plugin.name", "pgoutput", "Part of PostgreSQL: nothing to install."),
        Setting(
            "publication.autocreate.mode",
            "disabled",
            "Its login may not own tables, so the publication is made with the database.",
        ),
        Setting("slot.drop.on.stop", "false", "A stopped connector must not miss changes."),
        Setting("time.precision.mode", "adaptive", "Times keep the precision of their column."),
        Setting("interval.handling.mode", "string", "A month has no number of microseconds."),
        Setting("include.unknown.datatypes", "true", "The default drops such columns silently."),
    ),
    Engine.MYSQL: (
        *_BINLOG,
        Setting("database.ssl.mode", "disabled", "Loopback only; MySQL 8.0.12 speaks old TLS."),
        Setting(
            "driver.characterSetResults",
            "null",
            "Each column in its own character set: on a Java without EUC_JP_Solaris (the one "
            "from PyPI) the driver asks for eucjpms where it is told UTF-8.",
        ),
    ),
    Engine.MARIADB: (
        *_BINLOG,
        Setting("database.ssl.mode", "disable", "Loopback only."),
        Setting(
            "driver.yearIsDateType",
            "false",
            "The driver fails on YEAR 0000 when it reads years as dates.",
        ),
    ),
}
