"""Values: from the text of a JSON token to the typed value, without a Python row function.

In: a column of token text and a `ValueType`. Out: the typed column; NULL where the token cannot be
decoded, which `is_undecodable` tells from the source's own NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column

from lakehouse.plan.types import Kind, ValueType

_DIGITS = "0123456789ABCDEF"
_HEX_DIGITS = 32
_WORD = 8
_WHOLE = "decimal(38,0)"


def decode(token: Column, kind: ValueType) -> Column:
    """The typed value of a token; NULL for a NULL token and for one that cannot be decoded."""
    return _DECODERS[kind.kind](token, kind)


def is_undecodable(token: Column, value: Column) -> Column:
    """Whether a token that is there gave no value."""
    return token.isNotNull() & value.isNull()


def _cast(token: Column, kind: ValueType) -> Column:
    return token if kind.spark == "string" else token.try_cast(kind.spark)


def _base64(token: Column, _: ValueType) -> Column:
    return F.try_to_binary(token, F.lit("base64"))


def _days(token: Column, _: ValueType) -> Column:
    days = token.try_cast("int")
    # Spark's and Iceberg's dates end with the year 9999; what lies outside has no date.
    inside = days.between(-719_162, 2_932_896)
    return F.when(inside, F.date_add(F.lit("1970-01-01").cast("date"), days))


def _millis(token: Column, _: ValueType) -> Column:
    return _micros_to_timestamp(F.try_multiply(token.try_cast("bigint"), F.lit(1000)))


def _micros(token: Column, _: ValueType) -> Column:
    return _micros_to_timestamp(token.try_cast("bigint"))


def _micros_to_timestamp(micros: Column) -> Column:
    # 0001-01-01 to 9999-12-31, the range that every engine reads.
    inside = micros.between(-62_135_596_800_000_000, 253_402_300_799_999_999)
    return F.when(inside, F.timestamp_micros(micros)).cast("timestamp_ntz")


def _zoned(token: Column, _: ValueType) -> Column:
    return token.try_cast("timestamp")


def _decimal(token: Column, kind: ValueType) -> Column:
    number = unscaled(F.try_to_binary(token, F.lit("base64")))
    text = _let(number, lambda value: _with_point(value, F.lit(kind.scale)))
    return text if kind.spark == "string" else text.try_cast(kind.spark)


def _variable_decimal(token: Column, _: ValueType) -> Column:
    def text(parts: Column) -> Column:
        number = unscaled(F.try_to_binary(parts["value"], F.lit("base64")))
        return _let(number, lambda value: _with_point(value, parts["scale"]))

    return _let(F.from_json(token, "scale int, value string"), text)


def unscaled(number: Column) -> Column:
    """Big-endian two's complement as decimal(38,0); NULL beyond 38 digits."""
    return _let(F.hex(number), _from_hex)


def _from_hex(digits: Column) -> Column:
    negative = F.substring(digits, 1, 1) >= "8"
    positive = F.lpad(digits, _HEX_DIGITS, "0")
    inverted = F.lpad(F.translate(digits, _DIGITS, _DIGITS[::-1]), _HEX_DIGITS, "0")
    magnitude = F.try_add(_unsigned(inverted), F.lit(1).cast(_WHOLE))
    below_zero = F.try_subtract(F.lit(0).cast(_WHOLE), magnitude)
    value = F.when(negative, below_zero).otherwise(_unsigned(positive))
    return F.when(F.length(digits).between(2, _HEX_DIGITS), value)


def _unsigned(digits: Column) -> Column:
    words = [
        F.conv(F.substring(digits, 1 + start, _WORD), 16, 10).cast(_WHOLE)
        for start in range(0, _HEX_DIGITS, _WORD)
    ]
    total = words[0]
    for word in words[1:]:
        total = F.try_add(F.try_multiply(total, F.lit(2**32).cast(_WHOLE)), word)
    return total


def _with_point(number: Column, scale: Column) -> Column:
    # Spark's abs() of a decimal rounds to 34 digits, so the sign goes as text.
    digits = F.translate(number.cast("string"), "-", "")
    places = F.greatest(scale, F.lit(0))
    padded = F.lpad(digits, F.greatest(F.length(digits), places + 1), F.lit("0"))
    whole = F.substring(padded, F.lit(1), F.length(padded) - places)
    point = F.when(scale > 0, F.concat(F.lit("."), F.right(padded, places))).otherwise("")
    zeros = F.when(scale < 0, F.repeat(F.lit("0"), -scale)).otherwise("")
    sign = F.when(number < 0, "-").otherwise("")
    return F.concat(sign, whole, zeros, point)


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body` of a value that is computed once, however often the body names it."""
    return F.transform(F.array(value), body)[0]


def _array(token: Column, kind: ValueType) -> Column:
    element = _inner(kind)
    tokens = F.try_variant_get(F.try_parse_json(token), "$", "array<string>")
    return F.transform(tokens, lambda item: decode(item, element))


def _map(token: Column, kind: ValueType) -> Column:
    element = _inner(kind)
    tokens = F.try_variant_get(F.try_parse_json(token), "$", "map<string,string>")
    return F.transform_values(tokens, lambda _, item: decode(item, element))


def _struct(token: Column, kind: ValueType) -> Column:
    inner = ",".join(f"`{name.replace('`', '``')}`:string" for name, _ in kind.fields)
    tokens = F.try_variant_get(F.try_parse_json(token), "$", f"struct<{inner}>")
    values = [decode(tokens.getField(name), part).alias(name) for name, part in kind.fields]
    return F.when(tokens.isNotNull(), F.struct(*values))


def _inner(kind: ValueType) -> ValueType:
    if kind.element is None:
        raise ValueError(f"type {kind.spark!r}: expected one with an element")
    return kind.element


_DECODERS: Mapping[Kind, Callable[[Column, ValueType], Column]] = {
    Kind.CAST: _cast,
    Kind.BASE64: _base64,
    Kind.DECIMAL: _decimal,
    Kind.VARIABLE_DECIMAL: _variable_decimal,
    Kind.DAYS: _days,
    Kind.MILLIS: _millis,
    Kind.MICROS: _micros,
    Kind.ZONED: _zoned,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.STRUCT: _struct,
}
