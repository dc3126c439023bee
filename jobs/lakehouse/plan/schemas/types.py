"""Types: what a column of silver is, and how its values are decoded.

A `Column` has the Spark type that loses nothing, and the `Kind` of decoding that turns the token
of a message into it. `messages.md` §6 is the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

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


def decimal_type(precision: int, scale: int) -> ValueType:
    """A decimal that is sent as its bytes; text where no type of silver holds it."""
    if 0 <= scale <= precision <= MAX_DECIMAL_PRECISION:
        return ValueType(Kind.DECIMAL, f"decimal({precision},{scale})", scale)
    return ValueType(Kind.DECIMAL, "string", scale)
