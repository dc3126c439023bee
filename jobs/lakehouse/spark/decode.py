"""Values: from the text of a JSON token to the typed value, as text of Spark SQL.

In: SQL that gives a token, and a `ValueType`. Out: SQL that gives the value; NULL where the token
cannot be decoded, which the caller tells from the source's own NULL. It is text because a `Column`
costs a call of the JVM for each operator, and a wide table has thousands of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from lakehouse.names import quote_ident
from lakehouse.plan.masks import REDACTED_TEXT
from lakehouse.plan.types import Kind, ValueType
from lakehouse.spark.long_decimals import MOST_HEX_DIGITS, decimal_digits
from lakehouse.spark.sql import literal

# What the secret makes of HMAC's two constants: columns of each row that has hashed values.
MASK_INNER, MASK_OUTER = "mask_inner", "mask_outer"
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DIGITS = "0123456789ABCDEF"
_INVERSION = f"{literal(_DIGITS)}, {literal(_DIGITS[::-1])}"
_HEX_DIGITS = 32
_WORD = 8


def decode(token: str, kind: ValueType) -> str:
    """The typed value of a token; NULL for a NULL token and for one that cannot be decoded."""
    return _DECODERS[kind.kind](token, kind)


def _cast(token: str, kind: ValueType) -> str:
    if kind.spark == "string":
        return token
    return _exact_decimal(token, kind) or f"try_cast({token} AS {kind.spark})"


def _exact_decimal(text: str, kind: ValueType) -> str:
    """A number as decimal, NULL where a cast would round it; empty where that is not the type."""
    found = _DECIMAL.fullmatch(kind.spark)
    if found is None:
        return ""
    longest = f"decimal(38,{38 - int(found[1]) + int(found[2])})"
    is_exact = f"try_cast(number AS {kind.spark}) = try_cast(number AS {longest})"
    return _let("number", text, f"if({is_exact}, try_cast(number AS {kind.spark}), NULL)")


def _narrow(token: str, kind: ValueType) -> str:
    return f"CAST({decode(token, _inner(kind))} AS {kind.spark})"


def _kept(token: str, kind: ValueType) -> str:
    """What comes back as it was from the type of silver; anything else is not decoded."""
    inner = _inner(kind)
    back = f"if(try_cast(stored AS {inner.spark}) <=> sent, stored, NULL)"
    stored = _let("stored", f"try_cast(sent AS {kind.spark})", back)
    return _let("sent", decode(token, inner), stored)


def _unsigned_bigint(token: str, kind: ValueType) -> str:
    whole = f"if(number < 0, number + {_whole(str(2**64))}, number)"
    return _let("number", f"try_cast({token} AS decimal(20,0))", f"CAST({whole} AS {kind.spark})")


def _base64(token: str, _: ValueType) -> str:
    return f"try_to_binary({token}, 'base64')"


def _days(token: str, _: ValueType) -> str:
    # Spark's and Iceberg's dates end with the year 9999; what lies outside has no date.
    inside = "if(day BETWEEN -719162 AND 2932896, date_add(DATE'1970-01-01', day), NULL)"
    return _let("day", f"try_cast({token} AS int)", inside)


def _millis(token: str, _: ValueType) -> str:
    return _timestamp(f"try_multiply(try_cast({token} AS bigint), 1000L)")


def _micros(token: str, _: ValueType) -> str:
    return _timestamp(f"try_cast({token} AS bigint)")


def _timestamp(micros: str) -> str:
    # 0001-01-01 to 9999-12-31, the range that every engine reads.
    inside = "micros BETWEEN -62135596800000000L AND 253402300799999999L"
    value = "CAST(timestamp_micros(micros) AS timestamp_ntz)"
    return _let("micros", micros, f"if({inside}, {value}, NULL)")


def _zoned(token: str, _: ValueType) -> str:
    inside = "moment BETWEEN TIMESTAMP'0001-01-01 00:00:00Z' "
    inside += "AND TIMESTAMP'9999-12-31 23:59:59.999999Z'"
    # A timestamp has six digits; a cast would cut off the others.
    inside += f" AND NOT {token} RLIKE '[.][0-9]{{6}}[0-9]*[1-9]'"
    return _let("moment", f"try_cast({token} AS timestamp)", f"if({inside}, moment, NULL)")


def _decimal(token: str, kind: ValueType) -> str:
    number = f"try_to_binary({token}, 'base64')"
    if kind.spark == "string":
        return _long_decimal(number, str(kind.scale))
    text = _let(
        "number", unscaled(number), _with_point(*_sign_and_digits("number"), str(kind.scale))
    )
    return f"try_cast({text} AS {kind.spark})"


def _variable_decimal(token: str, kind: ValueType) -> str:
    digits = _long_decimal("try_to_binary(parts.value, 'base64')", "parts.scale")
    text = _let("parts", f"from_json({token}, 'scale int, value string')", digits)
    return _exact_decimal(text, kind) or text


def _long_decimal(number: str, scale: str) -> str:
    """A number of any length as text; most have a length for which there is a quicker way."""
    short = _let("number", unscaled(number), _with_point(*_sign_and_digits("number"), scale))
    sign = "if(substring(hexa, 1, 1) >= '8', '-', '')"
    inverted = f"translate(hexa, {_INVERSION})"
    magnitude = f"if({sign} = '-', {inverted}, hexa)"
    digits = _let("m", magnitude, decimal_digits("m", f"{sign} = '-'"))
    long = _with_point(sign, digits, scale)
    # A number of as many bytes as the quick way takes may have one digit too many for it.
    fits = f"length(hexa) BETWEEN {_HEX_DIGITS} AND {MOST_HEX_DIGITS}"
    return f"coalesce({short}, {_let('hexa', f'hex({number})', f'if({fits}, {long}, NULL)')})"


def _sign_and_digits(number: str) -> tuple[str, str]:
    # Spark's abs() of a decimal rounds to 34 digits, so the sign goes as text.
    return f"if({number} < 0, '-', '')", f"translate(CAST({number} AS string), '-', '')"


def unscaled(number: str) -> str:
    """Big-endian two's complement as decimal(38,0); NULL beyond 38 digits."""
    positive = _unsigned(f"lpad(digits, {_HEX_DIGITS}, '0')")
    inverted = f"translate(digits, {_INVERSION})"
    below = _unsigned(f"lpad({inverted}, {_HEX_DIGITS}, '0')")
    magnitude = f"try_add({below}, {_whole('1')})"
    below_zero = f"try_subtract({_whole('0')}, {magnitude})"
    value = f"if(substring(digits, 1, 1) >= '8', {below_zero}, {positive})"
    fits = f"length(digits) BETWEEN 2 AND {_HEX_DIGITS}"
    return _let("digits", f"hex({number})", f"if({fits}, {value}, NULL)")


def _unsigned(digits: str) -> str:
    words = [
        _whole(f"conv(substring(word, {1 + start}, {_WORD}), 16, 10)")
        for start in range(0, _HEX_DIGITS, _WORD)
    ]
    total = words[0]
    for word in words[1:]:
        total = f"try_add(try_multiply({total}, {_whole(str(2**32))}), {word})"
    return _let("word", digits, total)


def _whole(text: str) -> str:
    return f"CAST({text} AS decimal(38,0))"


def _with_point(sign: str, digits: str, scale: str) -> str:
    length = f"greatest(length(d), greatest({scale}, 0) + 1)"
    text = (
        f"concat({sign}, "
        f"substring(p, 1, length(p) - greatest({scale}, 0)), "
        f"if({scale} < 0, repeat('0', -({scale})), ''), "
        f"if({scale} > 0, concat('.', right(p, greatest({scale}, 0))), ''))"
    )
    padded = _let("p", f"lpad(d, {length}, '0')", text)
    return _let("d", digits, padded)


def _let(name: str, value: str, body: str) -> str:
    """`body` with a value that is computed once, however often the body names it."""
    return f"transform(array({value}), {name} -> {body})[0]"


def _array(token: str, kind: ValueType) -> str:
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'array<string>')"
    return _let("sent", tokens, _all_or_none("sent", _elements("sent", kind)))


def _map(token: str, kind: ValueType) -> str:
    """An object; a map whose keys are no text is an array of pairs, as Kafka Connect writes it."""
    if kind.key is not None:
        return _pairs(token, kind.key, _inner(kind))
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'map<string,string>')"
    values = f"transform_values(sent, (name, item) -> {decode('item', _inner(kind))})"
    found = _all_or_none("map_values(sent)", "map_values(got)", "got")
    return _let("sent", tokens, _let("got", values, found))


def _pairs(token: str, key: ValueType, value: ValueType) -> str:
    """A map of pairs; NULL unless each is one, with a key of its own."""
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'array<array<string>>')"
    is_pair = "size(pair) <=> 2 AND pair[0] IS NOT NULL"
    keys = f"transform(pairs, pair -> {decode('pair[0]', key)})"
    values = f"transform(pairs, pair -> {decode('pair[1]', value)})"
    found = _all_or_none("transform(pairs, pair -> pair[1])", "map_values(got)", "got")
    whole = _let("got", f"map_from_arrays(keys, {values})", found)
    # A map of Spark has no NULL for a key, and refuses one that comes twice.
    are_keys = "forall(keys, k -> k IS NOT NULL) AND size(array_distinct(keys)) = size(keys)"
    of_keys = _let("keys", keys, f"if({are_keys}, {whole}, NULL)")
    return _let("pairs", tokens, f"if(forall(pairs, pair -> {is_pair}), {of_keys}, NULL)")


def _elements(tokens: str, kind: ValueType) -> str:
    return f"transform({tokens}, item -> {decode('item', _inner(kind))})"


def _all_or_none(tokens: str, values: str, whole: str = "found") -> str:
    """The values, or NULL when one of them could not be decoded: it would look like a null."""
    lost = f"size(filter(found, v -> v IS NULL)) > size(filter({tokens}, v -> v IS NULL))"
    return _let("found", values, f"if({lost}, NULL, {whole})")


def _struct(token: str, kind: ValueType) -> str:
    inner = ",".join(f"{quote_ident(name)}:string" for name, _ in kind.fields)
    tokens = f"try_variant_get(try_parse_json({token}), '$', {literal(f'struct<{inner}>')})"
    names = [quote_ident(name) for name, _ in kind.fields]
    values = ", ".join(
        f"{literal(name)}, {decode(f'fields.{quote_ident(name)}', part)}"
        for name, part in kind.fields
    )
    lost = " OR ".join(f"(got.{name} IS NULL AND fields.{name} IS NOT NULL)" for name in names)
    got = _let("got", f"named_struct({values})", f"if({lost or 'false'}, NULL, got)")
    return _let("fields", tokens, f"if(fields IS NOT NULL, {got}, NULL)")


def _hashed(token: str, kind: ValueType) -> str:
    """HMAC-SHA-256 (RFC 2104) of the value's text, or of its bytes."""
    value = _bytes(token, _inner(kind))
    inner = f"unhex(sha2(concat({MASK_INNER}, {value}), 256))"
    return f"sha2(concat({MASK_OUTER}, {inner}), 256)"


def _bytes(token: str, kind: ValueType) -> str:
    if kind.spark == "binary":
        return decode(token, kind)
    # A nested value has no text of its own but that of its token.
    nested = kind.kind in (Kind.ARRAY, Kind.MAP, Kind.STRUCT)
    text = token if nested else f"CAST({decode(token, kind)} AS string)"
    return f"CAST({text} AS binary)"


def _redacted(token: str, kind: ValueType) -> str:
    if kind.spark != "string":
        return f"CAST(NULL AS {kind.spark})"
    return f"if({token} IS NULL, NULL, {literal(REDACTED_TEXT)})"


def _inner(kind: ValueType) -> ValueType:
    if kind.element is None:
        raise ValueError(f"type {kind.spark!r}: expected one with an element")
    return kind.element


_DECODERS: Mapping[Kind, Callable[[str, ValueType], str]] = {
    Kind.CAST: _cast,
    Kind.NARROW: _narrow,
    Kind.KEPT: _kept,
    Kind.UNSIGNED: _unsigned_bigint,
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
    Kind.HASHED: _hashed,
    Kind.REDACTED: _redacted,
}
