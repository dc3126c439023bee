"""The settings of Debezium's connectors that break a promise, as data.

https://debezium.io/documentation/reference/stable/connectors/ ("Connector configuration
properties"), https://kafka.apache.org/documentation/#connectconfigs (converters, errors).
"""

from __future__ import annotations

from dataclasses import dataclass

from lakehouse.plan.doctor.findings import Level, Promise

BINLOG = frozenset({"mysql", "mariadb"})
POSTGRESQL = frozenset({"postgresql"})
WITH_TRUNCATE = frozenset({"mysql", "mariadb", "oracle", "postgresql"})
WITH_HISTORY = frozenset({"db2", "mariadb", "mysql", "oracle", "sqlserver"})
EVERY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rule:
    """What one setting may be.

    Attributes:
        setting: Its name.
        default: What it is where it is not set.
        good: Values that keep every promise.
        why: What happens with any other value.
        connectors: Whose setting it is; empty for all connectors.
        wanted: The value to set; empty for the first good one.
    """

    setting: str
    default: str
    good: tuple[str, ...]
    why: str
    promise: Promise
    level: Level = Level.BREAKS
    connectors: frozenset[str] = EVERY
    wanted: str = ""


_NULL = "The converter writes the column's default where the row holds NULL."
_TIME = ("adaptive", "adaptive_time_microseconds", "microseconds", "nanoseconds")

RULES = (
    Rule("key.converter.replace.null.with.default", "true", ("false",), _NULL, Promise.EQUALS),
    Rule("value.converter.replace.null.with.default", "true", ("false",), _NULL, Promise.EQUALS),
    Rule(
        "value.converter.schemas.enable",
        "true",
        ("true",),
        "Without schemas only declared columns have exact types; a decimal has no scale.",
        Promise.LOSSLESS,
        Level.WARNING,
    ),
    Rule(
        "value.converter.decimal.format",
        "BASE64",
        ("BASE64",),
        "Decimals are sent as JSON numbers, which do not fit the schema that says bytes: their "
        "events are quarantined.",
        Promise.ONE_TABLE,
    ),
    Rule(
        "decimal.handling.mode",
        "precise",
        ("precise", "string"),
        "As doubles, decimals lose their digits behind the fifteenth.",
        Promise.LOSSLESS,
    ),
    Rule(
        "bigint.unsigned.handling.mode",
        "long",
        ("precise",),
        "BIGINT UNSIGNED values from 2^63 on become negative numbers, in keys too, unless the "
        'TOML file declares the column (columns.<name>.type = "bigint unsigned").',
        Promise.LOSSLESS,
        connectors=BINLOG,
    ),
    Rule(
        "binary.handling.mode",
        "bytes",
        ("bytes",),
        "Binary columns arrive as text and nothing says so.",
        Promise.LOSSLESS,
        Level.WARNING,
    ),
    Rule(
        "time.precision.mode",
        "adaptive",
        _TIME,
        "Times lose digits (connect), or become NULL where they are negative (isostring).",
        Promise.LOSSLESS,
    ),
    Rule(
        "interval.handling.mode",
        "numeric",
        ("string",),
        "A month is sent as 30.4375 days.",
        Promise.LOSSLESS,
        Level.WARNING,
        POSTGRESQL,
    ),
    Rule(
        "include.unknown.datatypes",
        "false",
        ("true",),
        "Columns of types that the connector does not know are left out without a word.",
        Promise.LOSSLESS,
        Level.WARNING,
        POSTGRESQL,
    ),
    Rule(
        "event.processing.failure.handling.mode",
        "fail",
        ("fail",),
        "An event that the connector cannot decode is left out.",
        Promise.NO_LOSS,
    ),
    Rule(
        "inconsistent.schema.handling.mode",
        "fail",
        ("fail",),
        "Rows that do not fit the connector's schema are left out.",
        Promise.NO_LOSS,
        connectors=BINLOG,
    ),
    Rule(
        "errors.tolerance",
        "none",
        ("none",),
        "Kafka Connect leaves out what fails in a converter or a transformation.",
        Promise.NO_LOSS,
    ),
    Rule(
        "schema.history.internal.skip.unparseable.ddl",
        "false",
        ("false",),
        "DDL that cannot be parsed is ignored, and later rows are read with the wrong columns.",
        Promise.SCHEMA,
        connectors=WITH_HISTORY,
    ),
    Rule(
        "include.schema.changes",
        "true",
        ("true",),
        "Without the schema change topic renames, defaults and dropped tables are not seen.",
        Promise.SCHEMA,
        Level.WARNING,
        WITH_HISTORY,
    ),
    Rule(
        "slot.drop.on.stop",
        "false",
        ("false",),
        "What changes while the connector is stopped is lost.",
        Promise.NO_LOSS,
        connectors=POSTGRESQL,
    ),
    Rule(
        "topic.delimiter",
        ".",
        (".",),
        "Topics have other names than their tables: their events are quarantined (wrong_topic).",
        Promise.ONE_TABLE,
    ),
    Rule(
        "field.name.adjustment.mode",
        "none",
        ("none",),
        "Columns arrive under other names, and two may get the same.",
        Promise.EQUALS,
        Level.WARNING,
    ),
    Rule(
        "unavailable.value.placeholder",
        "__debezium_unavailable_value",
        ("__debezium_unavailable_value",),
        "The placeholder of an unchanged large value is taken for the value itself.",
        Promise.EQUALS,
    ),
)
SNAPSHOT_MODES = ("always", "initial", "when_needed", "recovery", "configuration_based", "custom")
