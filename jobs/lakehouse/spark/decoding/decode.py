"""Values: from the text of a JSON token to the typed value, as text of Spark SQL.

In: SQL that gives a token, and a `ValueType`. Out: SQL that gives the value; NULL where the token
cannot be decoded, which the caller tells from the source's own NULL. It is text because a `Column`
costs a call of the JVM for each operator, and a wide table has thousands of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lakehouse.names import quote_ident
from lakehouse.plan.batches.masks import REDACTED_TEXT
from lakehouse.plan.schemas.types import Kind, ValueType
from lakehouse.spark.decoding.decimals import (
    decimal_of,
    exact_decimal,
    variable_decimal,
    whole_number,
)
from lakehouse.spark.sql import let, literal

# What the secret makes of HMAC's two constants: columns of each row that has hashed values.
MASK_INNER, MASK_OUTER = "mask_inner", "mask_outer"


def decode(token: str, kind: ValueType) -> str:
    """The typed value of a token; NULL for a NULL token and for one that cannot be decoded."""
    return _DECODERS[kind.kind](token, kind)


def _cast(token: str, kind: ValueType) -> str:
    if kind.spark == "string":
        return token
    return exact_decimal(token, kind) or f"try_cast({token} AS {kind.spark})"


def _narrow(token: str, kind: ValueType) -> str:
    return f"CAST({decode(token, _inner(kind))} AS {kind.spark})"


def _kept(token: str, kind: ValueType) -> str:
    """What comes back as it was from the type of silver; anything else is not decoded."""
    inner = _inner(kind)
    back = f"if(try_cast(stored AS {inner.spark}) <=> sent, stored, NULL)"
    stored = let("stored", f"try_cast(sent AS {kind.spark})", back)
    return let("sent", decode(token, inner), stored)


def _unsigned_bigint(token: str, kind: ValueType) -> str:
    positive = f"if(number < 0, number + {whole_number(str(2**64))}, number)"
    return let("number", f"try_cast({token} AS decimal(20,0))", f"CAST({positive} AS {kind.spark})")


def _base64(token: str, _: ValueType) -> str:
    return f"try_to_binary({token}, 'base64')"


def _days(token: str, _: ValueType) -> str:
    # Spark's and Iceberg's dates end with the year 9999; what lies outside has no date.
    inside = "if(day BETWEEN -719162 AND 2932896, date_add(DATE'1970-01-01', day), NULL)"
    return let("day", f"try_cast({token} AS int)", inside)


def _millis(token: str, _: ValueType) -> str:
    return _timestamp(f"try_multiply(try_cast({token} AS bigint), 1000L)")


def _micros(token: str, _: ValueType) -> str:
    return _timestamp(f"try_cast({token} AS bigint)")


def _timestamp(micros: str) -> str:
    # 0001-01-01 to 9999-12-31, the range that every engine reads.
    inside = "micros BETWEEN -62135596800000000L AND 253402300799999999L"
    value = "CAST(timestamp_micros(micros) AS timestamp_ntz)"
    return let("micros", micros, f"if({inside}, {value}, NULL)")


def _zoned(token: str, _: ValueType) -> str:
    inside = "moment BETWEEN TIMESTAMP'0001-01-01 00:00:00Z' "
    inside += "AND TIMESTAMP'9999-12-31 23:59:59.999999Z'"
    # A timestamp has six digits; a cast would cut off the others.
    inside += f" AND NOT {token} RLIKE '[.][0-9]{{6}}[0-9]*[1-9]'"
    return let("moment", f"try_cast({token} AS timestamp)", f"if({inside}, moment, NULL)")


def _array(token: str, kind: ValueType) -> str:
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'array<string>')"
    return let("sent", tokens, _all_or_none("sent", _elements("sent", kind)))


def _map(token: str, kind: ValueType) -> str:
    """An object; a map whose keys are no text is an array of pairs, as Kafka Connect writes it."""
    if kind.key is not None:
        return _pairs(token, kind.key, _inner(kind))
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'map<string,string>')"
    values = f"transform_values(sent, (name, item) -> {decode('item', _inner(kind))})"
    found = _all_or_none("map_values(sent)", "map_values(got)", "got")
    return let("sent", tokens, let("got", values, found))


def _pairs(token: str, key: ValueType, value: ValueType) -> str:
    """A map of pairs; NULL unless each is one, with a key of its own."""
    tokens = f"try_variant_get(try_parse_json({token}), '$', 'array<array<string>>')"
    is_pair = "size(pair) <=> 2 AND pair[0] IS NOT NULL"
    keys = f"transform(pairs, pair -> {decode('pair[0]', key)})"
    values = f"transform(pairs, pair -> {decode('pair[1]', value)})"
    found = _all_or_none("transform(pairs, pair -> pair[1])", "map_values(got)", "got")
    whole = let("got", f"map_from_arrays(keys, {values})", found)
    # A map of Spark has no NULL for a key, and refuses one that comes twice.
    are_keys = "forall(keys, k -> k IS NOT NULL) AND size(array_distinct(keys)) = size(keys)"
    of_keys = let("keys", keys, f"if({are_keys}, {whole}, NULL)")
    return let("pairs", tokens, f"if(forall(pairs, pair -> {is_pair}), {of_keys}, NULL)")


def _elements(tokens: str, kind: ValueType) -> str:
    return f"transform({tokens}, item -> {decode('item', _inner(kind))})"


def _all_or_none(tokens: str, values: str, whole: str = "found") -> str:
    """The values, or NULL when one of them could not be decoded: it would look like a null."""
    lost = f"size(filter(found, v -> v IS NULL)) > size(filter({tokens}, v -> v IS NULL))"
    return let("found", values, f"if({lost}, NULL, {whole})")


def _struct(token: str, kind: ValueType) -> str:
    inner = ",".join(f"{quote_ident(name)}:string" for name, _ in kind.fields)
    tokens = f"try_variant_get(try_parse_json({token}), '$', {literal(f'struct<{inner}>')})"
    names = [quote_ident(name) for name, _ in kind.fields]
    values = ", ".join(
        f"{literal(name)}, {decode(f'fields.{quote_ident(name)}', part)}"
        for name, part in kind.fields
    )
    lost = " OR ".join(f"(got.{name} IS NULL AND fields.{name} IS NOT NULL)" for name in names)
    got = let("got", f"named_struct({values})", f"if({lost or 'false'}, NULL, got)")
    return let("fields", tokens, f"if(fields IS NOT NULL, {got}, NULL)")


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
    Kind.DECIMAL: decimal_of,
    Kind.VARIABLE_DECIMAL: variable_decimal,
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
