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
from lakehouse.envelope import DELETE, TRUNCATE, UPDATE
from lakehouse.names import TableIdentity, quote_ident
from lakehouse.plan.tables import TablePlan, TopicPartition, Version, default_token
from lakehouse.plan.types import Column as SchemaColumn
from lakehouse.plan.types import Kind
from lakehouse.spark.decode import decode
from lakehouse.spark.halves import halves, is_placeholder
from lakehouse.spark.masking import with_mask_key
from lakehouse.spark.rows import key_text, row_key
from lakehouse.spark.shapes import fits, is_float, is_mistyped, may_be_odd
from lakehouse.spark.sql import all_of, any_of, in_partition, literal

_PLACE = ("topic", "partition", "offset", "position", "op", "snapshot", "source_ts_ms")
# `redelivered` and what tells two events of one position apart go with each event.
_DELIVERY = ("redelivered", "total_order", "half", "counted")
_NO_NAMES = "CAST(array() AS array<string>)"
# A row of a bag is named by its image, so that what it was before must be sent too.
_REASON = (
    "CASE WHEN bad_key THEN 'bad_key' WHEN no_key THEN 'no_key' "
    f"WHEN tokens IS NULL AND bag AND op IN ({literal(UPDATE)}, {literal(DELETE)}) "
    "THEN 'no_before_image' "
    "WHEN tokens IS NULL AND is_new THEN 'no_image' "
    "WHEN is_new AND other_key THEN 'key_mismatch' "
    "WHEN size(bad) > 0 THEN 'bad_value' WHEN NOT fits THEN 'unknown_column' END"
)


def table_rows(envelopes: DataFrame, plan: TablePlan, secret: bytes = b"") -> DataFrame:
    """The change events of a table that this batch may apply, truncates excepted.

    Args:
        envelopes: The batch.
        plan: The table.
        secret: What the values of hashed columns are hashed with.

    Returns:
        `topic, partition, offset, position, op, snapshot, source_ts_ms, redelivered, total_order,
        half, counted, image_hash, row_key, key, image, unavailable, bad, reason`; `bad` lists
        columns. An update may be two rows: `half` orders them, one of them is `counted`.
    """
    mine = envelopes.where(all_of((of_table(plan), f"op != {literal(TRUNCATE)}")))
    return reduce(
        DataFrame.unionByName,
        (_decode_version(mine, version, plan, secret) for version in plan.versions),
    )


def of_table(plan: TablePlan) -> str:
    """Whether an envelope is a change event that this batch may apply to the table."""
    return all_of((belongs_to(plan.identity), _in_plan(plan)))


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
            f"incarnation = {identity.incarnation}",
        )
    )


def _decode_version(
    events: DataFrame, version: Version, plan: TablePlan, secret: bytes
) -> DataFrame:
    by_name = {version.stored_name(c.name).lower(): c for c in version.columns}
    keys = (_key_value(by_name[name.lower()], name, plan) for name in plan.key)
    values = (_value(name, kind, by_name, plan) for name, kind in plan.columns.items())
    mine = events.where(f"fingerprint = {version.fingerprint}")
    key = f"named_struct({', '.join(keys)})" if plan.key else "CAST(NULL AS string)"
    fitting = fits(version.columns, version.withheld)
    fit = f"NOT ({_has_image(plan)}) OR tokens IS NULL OR {fitting} AS fits"
    tokens = with_mask_key(halves(mine, version, plan), version.columns, secret)
    typed = tokens.selectExpr("*", f"{key} AS key", fit)
    decoded = typed.selectExpr(
        "*", f"if({_has_image(plan)}, named_struct({', '.join(values)}), NULL) AS image"
    )
    found = decoded.selectExpr(
        *_PLACE,
        *_DELIVERY,
        "if(tokens IS NOT NULL, xxhash64(tokens), NULL) AS image_hash",
        f"{row_key(plan, 'image') if plan.is_bag else key_text(plan, 'key')} AS row_key",
        "key",
        "image",
        "tokens",
        f"{_unavailable(version, plan)} AS unavailable",
        f"{_bad_columns(version, plan)} AS bad",
        "fits",
        f"{any_of(_is_bad_key(by_name[name.lower()], name, plan) for name in plan.key)} AS bad_key",
        f"{any_of(_differs(name) for name in plan.key)} AS other_key",
        f"{_lacks_key(plan)} AS no_key",
        f"{'true' if plan.is_bag else 'false'} AS bag",
        f"op != {literal(DELETE)} AS is_new",
    )
    helpers = ("tokens", "bad_key", "other_key", "no_key", "bag", "is_new", "fits")
    return found.selectExpr("*", f"{_REASON} AS reason").drop(*helpers)


def _has_image(plan: TablePlan) -> str:
    """Whether the row image is needed: of a delete, only where it names the row."""
    return "true" if plan.is_bag else f"op != {literal(DELETE)}"


def _lacks_key(plan: TablePlan) -> str:
    if plan.is_bag or plan.key_in_row:
        return "false"
    return "coalesce(size(key_tokens), 0) = 0"


def _key_token(column: SchemaColumn, plan: TablePlan) -> str:
    sent = f"element_at(key_tokens, {literal(column.name)})"
    if not plan.halves:
        return sent
    # The event key of an update that changes the key is the new one.
    of_row = "true" if plan.key_in_row else f"op = {literal(DELETE)}"
    return f"if({of_row}, coalesce({_token(column)}, {sent}), {sent})"


def _key_value(column: SchemaColumn, name: str, plan: TablePlan) -> str:
    value = decode(_key_token(column, plan), column.type)
    return f"{literal(name)}, CAST({value} AS {plan.columns[name]})"


def _is_bad_key(column: SchemaColumn, name: str, plan: TablePlan) -> str:
    """Whether a column of the event key is there and gives no value."""
    return f"{_key_token(column, plan)} IS NOT NULL AND key.{quote_ident(name)} IS NULL"


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
        keeps = plan.placeholders and column.type.kind is not Kind.REDACTED
        present = f"if({_is_placeholder(column)}, NULL, {token})" if keeps else token
        value = decode(present, column.type)
        if is_float(column):
            exact = f"floats.{quote_ident(column.name)}"
            value = f"if({exact} = 0, {exact}, {value})"
    else:
        value = decode_default(column)
    return f"{literal(name)}, CAST({value} AS {kind})"


def decode_default(column: SchemaColumn) -> str:
    """The constant default of a column, typed; that of a masked column is masked already."""
    token = default_token(column)
    text = "CAST(NULL AS string)" if token is None else literal(token)
    if column.type.is_masked:
        return f"CAST({text} AS {column.type.spark})"
    return decode(text, column.type)


def _token(column: SchemaColumn) -> str:
    return f"tokens.{quote_ident(column.name)}"


def _is_placeholder(column: SchemaColumn) -> str:
    return is_placeholder(_token(column))


def _unavailable(version: Version, plan: TablePlan) -> str:
    """Lower-case names of columns whose unchanged large value was left out."""
    if not plan.placeholders:
        return _NO_NAMES
    return _names_where(
        plan,
        (
            (_is_placeholder(column), version.stored_name(column.name).lower())
            for column in version.columns
            if _sent_kind(column) in (Kind.CAST, Kind.BASE64, Kind.ARRAY)
        ),
    )


def _sent_kind(column: SchemaColumn) -> Kind:
    """How the value that is sent is decoded, whatever silver gets of it; a constant needs none."""
    hashed = column.type.element if column.type.kind is Kind.HASHED else None
    return hashed.kind if hashed else column.type.kind


def _bad_columns(version: Version, plan: TablePlan) -> str:
    """Names of columns without a value that their schema allows; most images have none."""
    undecodable = _undecodable(version, plan)
    stored = {name.lower() for name in plan.columns}
    there = [c for c in version.columns if version.stored_name(c.name).lower() in stored]

    def value(column: SchemaColumn) -> str:
        return f"image.{quote_ident(version.stored_name(column.name))}"

    odd = f"NOT fits OR {may_be_odd(there, value)}"
    wrong = (
        (is_mistyped(column, _token(column), value(column)), version.stored_name(column.name))
        for column in there
    )
    mistyped = _names_where(plan, wrong)
    both = f"array_union({undecodable}, {mistyped})"
    return f"if(coalesce({odd}, false), {both}, {undecodable})"


def _undecodable(version: Version, plan: TablePlan) -> str:
    """Names of columns whose token is there and gives no value."""
    stored = {name.lower() for name in plan.columns}
    return _names_where(
        plan,
        (
            (_lacks_value(column, name, plan), name)
            for column in version.columns
            for name in [version.stored_name(column.name)]
            if name.lower() in stored
            and (column.type.kind, column.type.spark) != (Kind.CAST, "string")
            and column.type.kind is not Kind.REDACTED
        ),
    )


def _lacks_value(column: SchemaColumn, name: str, plan: TablePlan) -> str:
    lacks = f"{_token(column)} IS NOT NULL AND image.{quote_ident(name)} IS NULL"
    return f"{lacks} AND NOT {_is_placeholder(column)}" if plan.placeholders else lacks


def _names_where(plan: TablePlan, found: Iterable[tuple[str, str]]) -> str:
    """The names whose condition holds; the row image of a delete event has none."""
    named = ", ".join(f"if({condition}, {literal(name)}, NULL)" for condition, name in found)
    if not named:
        return _NO_NAMES
    return f"if({_has_image(plan)}, array_compact(array({named})), {_NO_NAMES})"


def _in_plan(plan: TablePlan) -> str:
    """Whether a message is between the table's own progress and where it is held, if anywhere."""
    return any_of(_in_range(place, plan) for place in plan.places)


def _in_range(place: TopicPartition, plan: TablePlan) -> str:
    start = f"offset >= {plan.start.next_offset(*place)}"
    end = (f"offset < {plan.limits[place]}",) if place in plan.limits else ()
    return " AND ".join((in_partition(place), start, *end))
