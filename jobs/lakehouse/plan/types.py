"""Types: from the schema that a message carries to the column that silver gets.

In: a field of a Kafka Connect JSON schema. Out: a `Column` with the Spark type that loses nothing
and the `Kind` of decoding that turns the JSON token into it. `messages.md` §6 is the table.
Kafka Connect: https://kafka.apache.org/documentation/#connect ; Debezium's semantic types:
https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-data-types
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.connectors import Connector

Schema = Mapping[str, object]

MAX_DECIMAL_PRECISION = 38


class Kind(StrEnum):
    """How a JSON token becomes a value."""

    CAST = "cast"
    UNSIGNED = "unsigned"
    """A number of 64 bits that was sent as a signed one."""
    BASE64 = "base64"
    NARROW = "narrow"
    """A number of fewer bits than the type of silver has; `element` is its own type."""
    KEPT = "kept"
    """A value of another type than silver's that fits it exactly; `element` is its own type."""
    DECIMAL = "decimal"
    VARIABLE_DECIMAL = "variable_decimal"
    DAYS = "days"
    MILLIS = "millis"
    MICROS = "micros"
    ZONED = "zoned"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"
    HASHED = "hashed"
    """A keyed hash of the value; `element` is how the value itself would be decoded."""
    REDACTED = "redacted"
    """A constant; `element` is the type of the value that it stands for."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """A type of silver and how its values are decoded.

    Attributes:
        kind: The decoding.
        spark: Spark's DDL of the type.
        scale: Digits behind the point, for decimals.
        element: Of an array; the value of a map; what a masked value was; what a narrow number or
            a value of another type is sent as.
        key: Of a map whose keys are no text, and which is sent as an array of pairs; else None.
        fields: Of a struct.
    """

    kind: Kind
    spark: str
    scale: int = 0
    element: ValueType | None = None
    key: ValueType | None = None
    fields: tuple[tuple[str, ValueType], ...] = ()

    @property
    def is_masked(self) -> bool:
        """Whether silver has no value of the source in it."""
        return self.kind in (Kind.HASHED, Kind.REDACTED)

    @property
    def sent(self) -> ValueType:
        """The type of the value in an event, where silver has what is made of it."""
        made_of = self.element if self.kind in (Kind.HASHED, Kind.KEPT) else None
        return made_of.sent if made_of else self


@dataclass(frozen=True, slots=True)
class Column:
    """A column as one schema version declares it.

    Attributes:
        default: JSON text of the constant default; None where there is none, or it is null.
        semantic: The schema's name, such as `io.debezium.time.Date`; empty for plain types.
        doc: What a reader must know beside the type; empty where the type says all.
        wire: The plain type that the messages declare, such as `int16`.
        source_type: The type in the source's own words, where the message's schema has it.
        allowed: The values of an enum or a set, as the message's schema lists them.
    """

    name: str
    type: ValueType
    optional: bool
    default: str | None = None
    semantic: str = ""
    doc: str = ""
    wire: str = ""
    source_type: str = ""
    allowed: str = ""


INT = ValueType(Kind.CAST, "int")
LONG = ValueType(Kind.CAST, "bigint")
FLOAT = ValueType(Kind.CAST, "float")
DOUBLE = ValueType(Kind.CAST, "double")
BOOLEAN = ValueType(Kind.CAST, "boolean")
TEXT = ValueType(Kind.CAST, "string")
BINARY = ValueType(Kind.BASE64, "binary")
DATE = ValueType(Kind.DAYS, "date")
MILLIS = ValueType(Kind.MILLIS, "timestamp_ntz")
MICROS = ValueType(Kind.MICROS, "timestamp_ntz")
ZONED = ValueType(Kind.ZONED, "timestamp")
UNSIGNED_BIGINT = ValueType(Kind.UNSIGNED, "decimal(20,0)")
# Of what is wrong a person is shown so much.
_SHOWN = 80
PRIMITIVES: Mapping[str, ValueType] = {
    "int8": ValueType(Kind.NARROW, "int", element=ValueType(Kind.CAST, "tinyint")),
    "int16": ValueType(Kind.NARROW, "int", element=ValueType(Kind.CAST, "smallint")),
    "int32": INT,
    "int64": LONG,
    "float": FLOAT,
    "float32": FLOAT,
    "double": DOUBLE,
    "float64": DOUBLE,
    "boolean": BOOLEAN,
    "string": TEXT,
    "bytes": BINARY,
}

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


def decimal_type(precision: int, scale: int) -> ValueType:
    """A decimal that is sent as its bytes; text where no type of silver holds it."""
    if 0 <= scale <= precision <= MAX_DECIMAL_PRECISION:
        return ValueType(Kind.DECIMAL, f"decimal({precision},{scale})", scale)
    return ValueType(Kind.DECIMAL, "string", scale)


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
    inner = ",".join(f"`{name.replace('`', '``')}`:{kind.spark}" for name, kind in fields)
    return ValueType(Kind.STRUCT, f"struct<{inner}>", fields=fields)


_NESTED: Mapping[str, Callable[[Schema, Connector | None], ValueType]] = {
    "array": _array,
    "map": _map,
    "struct": _struct,
}
