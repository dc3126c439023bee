"""Change events of one table, typed: key, position and row image.

In: the batch's envelopes and the table's plan. Out: one row per change event with `row_key` (text
that names the key), `position`, `op`, the typed `image` in silver's columns, the columns whose
unchanged large value the connector left out, and why the event cannot be applied, if so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import DataFrame

from lakehouse.config import TopicRole
from lakehouse.envelope import DELETE, PLACEHOLDER, PLACEHOLDER_BASE64, TRUNCATE
from lakehouse.names import TableIdentity, quote_ident
from lakehouse.plan.tables import TablePlan, TopicPartition, Version, default_token
from lakehouse.plan.types import Column as SchemaColumn
from lakehouse.plan.types import Kind
from lakehouse.spark.decode import decode
from lakehouse.spark.sql import all_of, any_of, in_partition, literal

_PLACE = ("topic", "partition", "offset", "position", "op", "snapshot", "source_ts_ms")
# `redelivered` and what tells two events of one position apart go with each event.
_DELIVERY = ("redelivered", "total_order")
# The placeholder is text, its bytes, or an array's only element.
_PLACEHOLDERS = (PLACEHOLDER, PLACEHOLDER_BASE64, f'["{PLACEHOLDER}"]')
_NO_NAMES = "CAST(array() AS array<string>)"
_REASON = (
    "CASE WHEN bad_key THEN 'bad_key' "
    f"WHEN op != {literal(DELETE)} AND image_hash IS NULL THEN 'no_image' "
    f"WHEN op != {literal(DELETE)} AND other_key THEN 'key_mismatch' "
    "WHEN size(bad) > 0 THEN 'bad_value' END"
)


def table_rows(envelopes: DataFrame, plan: TablePlan) -> DataFrame:
    """The change events of a table that this batch may apply, truncates excepted.

    Returns:
        `topic, partition, offset, position, op, snapshot, source_ts_ms, redelivered, total_order,
        image_hash, row_key, key, image, unavailable, bad, reason`; `bad` lists columns.
    """
    mine = envelopes.where(
        all_of((belongs_to(plan.identity), f"op != {literal(TRUNCATE)}", _in_plan(plan)))
    )
    return reduce(
        DataFrame.unionByName,
        (_decode_version(mine, version, plan) for version in plan.versions),
    )


def belongs_to(identity: TableIdentity) -> str:
    """Whether an envelope is a readable change event of the table."""
    names = (identity.database, identity.schema_name)
    database, schema = ("NULL" if name is None else literal(name) for name in names)
    return all_of(
        (
            f"role = {literal(TopicRole.DATA)}",
            "reason IS NULL",
            "NOT control",
            f"database <=> {database}",
            f"schema_name <=> {schema}",
            f"table_name = {literal(identity.table)}",
        )
    )


def _decode_version(events: DataFrame, version: Version, plan: TablePlan) -> DataFrame:
    names = ",".join(f"{quote_ident(column.name)}:string" for column in version.columns)
    by_name = {column.name.lower(): column for column in version.columns}
    keys = (_key_value(by_name[name.lower()], plan.columns[name], name) for name in plan.key)
    values = (_value(name, kind, by_name, plan) for name, kind in plan.columns.items())
    typed = events.where(f"fingerprint = {version.fingerprint}").selectExpr(
        *_PLACE,
        *_DELIVERY,
        "key_tokens",
        f"named_struct({', '.join(keys)}) AS key",
        f"try_variant_get(payload, '$.after', {literal(f'struct<{names}>')}) AS tokens",
    )
    decoded = typed.selectExpr(
        "*",
        f"if(op != {literal(DELETE)}, named_struct({', '.join(values)}), NULL) AS image",
    )
    found = decoded.selectExpr(
        *_PLACE,
        *_DELIVERY,
        "if(tokens IS NOT NULL, xxhash64(tokens), NULL) AS image_hash",
        f"{key_text('key', plan.key)} AS row_key",
        "key",
        "image",
        f"{_unavailable(version, plan)} AS unavailable",
        f"{_undecodable(version, plan)} AS bad",
        f"{any_of(_is_bad_key(by_name[name.lower()], name) for name in plan.key)} AS bad_key",
        f"{any_of(_differs(name) for name in plan.key)} AS other_key",
    )
    return found.selectExpr("*", f"{_REASON} AS reason").drop("bad_key", "other_key")


def key_text(struct: str, names: tuple[str, ...]) -> str:
    """Text that names a key: a JSON list of its values, in the order of the key's columns."""
    texts = ", ".join(f"CAST({struct}.{quote_ident(name)} AS string)" for name in names)
    return f"to_json(array({texts}), map('ignoreNullFields', 'false'))"


def _key_value(column: SchemaColumn, kind: str, name: str) -> str:
    value = decode(f"element_at(key_tokens, {literal(column.name)})", column.type)
    return f"{literal(name)}, CAST({value} AS {kind})"


def _is_bad_key(column: SchemaColumn, name: str) -> str:
    """Whether a column of the event key is there and gives no value."""
    token = f"element_at(key_tokens, {literal(column.name)})"
    return f"{token} IS NOT NULL AND key.{quote_ident(name)} IS NULL"


def _differs(name: str) -> str:
    """Whether the row image has another value in a column of the key than the event key."""
    quoted = quote_ident(name)
    return f"NOT (key.{quoted} <=> image.{quoted})"


def _value(name: str, kind: str, by_name: dict[str, SchemaColumn], plan: TablePlan) -> str:
    """A column of the row image in silver's type; what the version lacks is null or a default."""
    column = by_name.get(name.lower()) or plan.defaults.get(name.lower())
    if column is None:
        value = "NULL"
    elif name.lower() in by_name:
        token = _token(column)
        present = f"if({_is_placeholder(column)}, NULL, {token})" if plan.placeholders else token
        value = decode(present, column.type)
    else:
        value = decode_default(column)
    return f"{literal(name)}, CAST({value} AS {kind})"


def decode_default(column: SchemaColumn) -> str:
    """The constant default of a column, typed."""
    token = default_token(column)
    return decode("CAST(NULL AS string)" if token is None else literal(token), column.type)


def _token(column: SchemaColumn) -> str:
    return f"tokens.{quote_ident(column.name)}"


def _is_placeholder(column: SchemaColumn) -> str:
    texts = ", ".join(map(literal, _PLACEHOLDERS))
    return f"coalesce({_token(column)} IN ({texts}), false)"


def _unavailable(version: Version, plan: TablePlan) -> str:
    """Lower-case names of columns whose unchanged large value was left out."""
    if not plan.placeholders:
        return _NO_NAMES
    return _names_where(
        (_is_placeholder(column), column.name.lower())
        for column in version.columns
        if column.type.kind in (Kind.CAST, Kind.BASE64, Kind.ARRAY)
    )


def _undecodable(version: Version, plan: TablePlan) -> str:
    """Names of columns whose token is there and gives no value."""
    stored = {name.lower() for name in plan.columns}
    return _names_where(
        (_lacks_value(column, plan), column.name)
        for column in version.columns
        if column.name.lower() in stored
        and (column.type.kind, column.type.spark) != (Kind.CAST, "string")
    )


def _lacks_value(column: SchemaColumn, plan: TablePlan) -> str:
    lacks = f"{_token(column)} IS NOT NULL AND image.{quote_ident(column.name)} IS NULL"
    return f"{lacks} AND NOT {_is_placeholder(column)}" if plan.placeholders else lacks


def _names_where(found: Iterable[tuple[str, str]]) -> str:
    """The names whose condition holds; the row image of a delete event has none."""
    named = ", ".join(f"if({condition}, {literal(name)}, NULL)" for condition, name in found)
    if not named:
        return _NO_NAMES
    return f"if(op != {literal(DELETE)}, array_compact(array({named})), {_NO_NAMES})"


def _in_plan(plan: TablePlan) -> str:
    """Whether a message is between the table's own progress and where it is held, if anywhere."""
    places = {place for version in plan.versions for place in version.first}
    return any_of(_in_range(place, plan) for place in sorted(places))


def _in_range(place: TopicPartition, plan: TablePlan) -> str:
    start = f"offset >= {plan.start.next_offset(*place)}"
    end = (f"offset < {plan.limits[place]}",) if place in plan.limits else ()
    return " AND ".join((in_partition(place), start, *end))
