"""Connect schemas: from the schema that a message carries to the columns that silver gets.

In: the schema of an envelope, as Kafka Connect's JSON converter writes it. Out: its `Column`s.
Kafka Connect: https://kafka.apache.org/documentation/#connect ; Debezium's semantic types:
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from lakehouse.connectors import Connector
from lakehouse.names import quote_ident
from lakehouse.plan.schemas.types import (
    BINARY,
    DATE,
    LONG,
    MAX_DECIMAL_PRECISION,
    MICROS,
    MILLIS,
    PRIMITIVES,
    TEXT,
    UNSIGNED_BIGINT,
    ZONED,
    Column,
    Kind,
    ValueType,
    decimal_type,
)

Schema = Mapping[str, object]

# Of what is wrong a person is shown so much.
_SHOWN = 80

# A unit that the type itself cannot show is written into the column's doc.
_UNITS: Mapping[str, str] = {
    "io.debezium.time.Time": "time of day in milliseconds",
    "io.debezium.time.MicroTime": "time of day in microseconds",
    "io.debezium.time.NanoTime": "time of day in nanoseconds",
    "io.debezium.time.NanoTimestamp": "nanoseconds since 1970-01-01 without zone",
    "io.debezium.time.MicroDuration": "microseconds; a month counts 30.4375 days",
    "org.apache.kafka.connect.data.Time": "time of day in milliseconds",
}


def _decimal(schema: Schema) -> ValueType:
    given = _parameters(schema)
    scale = int(str(given.get("scale", 0)))
    precision = int(str(given.get("connect.decimal.precision", MAX_DECIMAL_PRECISION)))
    return decimal_type(precision, scale)


def _parameters(schema: Schema) -> Mapping[str, object]:
    parameters = schema.get("parameters")
    return parameters if isinstance(parameters, Mapping) else {}


_SEMANTIC: Mapping[str, ValueType | Callable[[Schema], ValueType]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "io.debezium.data.VariableScaleDecimal": ValueType(Kind.VARIABLE_DECIMAL, "string"),
    "io.debezium.time.Date": DATE,
    "org.apache.kafka.connect.data.Date": DATE,
    "io.debezium.time.Time": LONG,
    "io.debezium.time.MicroTime": LONG,
    "io.debezium.time.NanoTime": LONG,
    "org.apache.kafka.connect.data.Time": LONG,
    "io.debezium.time.Timestamp": MILLIS,
    "org.apache.kafka.connect.data.Timestamp": MILLIS,
    "io.debezium.time.MicroTimestamp": MICROS,
    "io.debezium.time.NanoTimestamp": LONG,
    "io.debezium.time.ZonedTimestamp": ZONED,
}


# With `column.propagate.source.type` a connector says what the column is in the source.
_SOURCE_TYPE = "__debezium.source.column.type"

# With its extension TiCDC says of a column what its wire format hides.
_TIDB: Mapping[str, ValueType] = {
    "bigint unsigned": UNSIGNED_BIGINT,
    **dict.fromkeys(("binary", "varbinary"), BINARY),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), BINARY),
}


def parse_column(field: Schema, connector: Connector) -> Column:
    """The column of one field of a row's schema.

    Raises:
        ValueError: The schema is none that Kafka Connect writes.
    """
    name, semantic = field.get("field"), field.get("name") or ""
    if not isinstance(name, str):
        raise ValueError(f"field {name!r}: expected a name")
    default = field.get("default")
    return Column(
        name=name,
        type=value_type(field, connector),
        optional=bool(field.get("optional", False)),
        default=None if default is None else json.dumps(default),
        semantic=str(semantic),
        doc=_UNITS.get(str(semantic), ""),
        wire=str(field.get("type")),
        source_type=str(field.get("tidb_type") or _parameters(field).get(_SOURCE_TYPE) or ""),
        allowed=str(_parameters(field).get("allowed") or ""),
    )


def value_type(schema: Schema, connector: Connector | None = None) -> ValueType:
    """The type that a schema declares; one without a known name is its plain type.

    Args:
        schema: Of one value.
        connector: Its rules for types; None for a plain type.

    Raises:
        ValueError: The type is unknown.
    """
    known = _SEMANTIC.get(str(schema.get("name") or "")) or _TIDB.get(str(schema.get("tidb_type")))
    if known is ZONED and connector is not None and connector.zoned_as_text:
        return TEXT
    if isinstance(known, ValueType):
        return known
    if known is not None:
        return known(schema)
    kind = str(schema.get("type"))
    if kind in PRIMITIVES:
        return PRIMITIVES[kind]
    if kind in _NESTED:
        return _NESTED[kind](schema, connector)
    raise ValueError(f"type {kind[:_SHOWN]!r}: expected one of Kafka Connect's")


def row_columns(envelope: Schema, connector: Connector) -> tuple[Column, ...]:
    """The columns of a table from the schema of an envelope.

    Args:
        envelope: The `schema` member of a message's value.
        connector: Its rules for types.

    Raises:
        ValueError: It is no schema of an envelope.
    """
    for field in _schemas(envelope.get("fields")):
        if field.get("field") == "after":
            columns = _schemas(field.get("fields"))
            return tuple(parse_column(column, connector) for column in columns)
    raise ValueError("schema without field 'after': expected the one of an envelope")


def _schemas(value: object) -> list[Schema]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise ValueError(f"fields {repr(value)[:_SHOWN]}: expected a list of schemas")
    return value


def _schema(value: object) -> Schema:
    if not isinstance(value, Mapping):
        raise ValueError(f"schema {repr(value)[:_SHOWN]}: expected an object")
    return value


def _array(schema: Schema, connector: Connector | None) -> ValueType:
    element = value_type(_schema(schema.get("items")), connector)
    return ValueType(Kind.ARRAY, f"array<{element.spark}>", element=element)


def _map(schema: Schema, connector: Connector | None) -> ValueType:
    element = value_type(_schema(schema.get("values")), connector)
    keys = _schema(schema.get("keys"))
    if keys.get("type") == "string":
        # Kafka Connect writes an object, whatever the text stands for.
        return ValueType(Kind.MAP, f"map<string,{element.spark}>", element=element)
    if keys.get("type") in _NESTED:
        raise ValueError(f"type {keys.get('type')!r} of a map's keys: expected a plain type")
    key = value_type(keys, connector)
    return ValueType(Kind.MAP, f"map<{key.spark},{element.spark}>", element=element, key=key)


def _struct(schema: Schema, connector: Connector | None) -> ValueType:
    fields = tuple(
        (str(field.get("field")), value_type(field, connector))
        for field in _schemas(schema.get("fields"))
    )
    inner = ",".join(f"{quote_ident(name)}:{kind.spark}" for name, kind in fields)
    return ValueType(Kind.STRUCT, f"struct<{inner}>", fields=fields)


_NESTED: Mapping[str, Callable[[Schema, Connector | None], ValueType]] = {
    "array": _array,
    "map": _map,
    "struct": _struct,
}
