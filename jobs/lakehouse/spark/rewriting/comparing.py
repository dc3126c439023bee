"""Two states of one table compared: by a hash of their rows, down to the keys that differ.

In: the rows of two refs of an Iceberg table. Out: a `Difference`. One pass over both; nothing but
counts and a few keys reaches the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyspark.sql.functions as F
import structlog
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from lakehouse.errors import first_line
from lakehouse.names import quote_ident
from lakehouse.plan.remaking.differences import KEYS_SHOWN, Difference
from lakehouse.spark.commits import FAILURES
from lakehouse.spark.once import once
from lakehouse.spark.rows import values_text
from lakehouse.spark.tables import type_ddl

_LOG = structlog.get_logger()
_NESTED = (T.ArrayType, T.MapType, T.StructType)
_SUM = "aggregate({}, CAST(0 AS decimal(38,0)), (s, h) -> CAST(s + h AS decimal(38,0)))"


def compare(table: str, before: DataFrame, after: DataFrame, key: Sequence[str]) -> Difference:
    """Compare two states of a table.

    Args:
        table: Namespace and name.
        before: The rows that are there.
        after: The rows that take their place, of the same columns.
        key: The columns that identify a row; none where equal rows may stand several times.
    """
    types = {field.name: type_ddl(field.dataType) for field in before.schema.fields}
    name = values_text({each: types[each] for each in key}) if key else None
    return contrast(table, before, after, name)[0]


def compare_or_replace(
    table: str, before: DataFrame, after: DataFrame, key: Sequence[str]
) -> Difference:
    """As `compare`; a table of which a file is missing or torn has no rows to compare with.

    Raises:
        PySparkException: The rows that take their place cannot be read either.
    """
    try:
        return compare(table, before, after, key)
    except FAILURES as failure:
        _LOG.warning("the old rows cannot be read", table=table, reason=first_line(failure))
        return replace(compare(table, after.limit(0), after, key), is_unread=True)


def contrast(
    table: str, before: DataFrame, after: DataFrame, name: str | None
) -> tuple[Difference, DataFrame]:
    """Compare two states of a table, down to the rows that differ.

    Args:
        table: Namespace and name.
        before: The rows that are there.
        after: The rows that take their place, of the same columns.
        name: SQL for text that names a row; None where equal rows may stand several times, so
            that a hash of the row names it (`row_hash`).

    Returns:
        The difference, and `name` of what differs, once each.
    """
    sides = _hashed(before, name, "true").unionByName(_hashed(after, name, "false"))
    each = sides.groupBy("name").agg(
        F.expr("array_sort(collect_list(if(old, hash, NULL))) AS b"),
        F.expr("array_sort(collect_list(if(old, NULL, hash))) AS a"),
    )
    each = once(each)
    found = each.selectExpr(
        "coalesce(sum(size(b)), 0) AS before",
        "coalesce(sum(size(a)), 0) AS after",
        f"string(coalesce(sum({_SUM.format('b')}), 0)) AS hash_before",
        f"string(coalesce(sum({_SUM.format('a')}), 0)) AS hash_after",
        *_counts(has_key=name is not None),
    ).collect()[0]
    differing = each.where("a != b").select("name")
    keys: tuple[str, ...] = ()
    if name is not None and found["lost"] + found["found"] + found["changed"]:
        keys = tuple(row["name"] for row in differing.orderBy("name").limit(KEYS_SHOWN).collect())
    difference = Difference(
        table=table,
        before=int(found["before"]),
        after=int(found["after"]),
        hashes=(found["hash_before"], found["hash_after"]),
        lost=int(found["lost"]),
        found=int(found["found"]),
        changed=int(found["changed"]),
        keys=keys,
    )
    return difference, differing


def _counts(*, has_key: bool) -> tuple[str, ...]:
    """Of a table without a key, how often equal rows stand there."""
    if not has_key:
        return (
            "coalesce(sum(greatest(size(b) - size(a), 0)), 0) AS lost",
            "coalesce(sum(greatest(size(a) - size(b), 0)), 0) AS found",
            "0 AS changed",
        )
    return (
        "count_if(size(a) = 0) AS lost",
        "count_if(size(b) = 0) AS found",
        "count_if(size(a) > 0 AND size(b) > 0 AND a != b) AS changed",
    )


def row_hash(rows: DataFrame) -> str:
    """SQL for a hash over all columns of a row."""
    parts = [part for field in rows.schema.fields for part in _parts(field)]
    return f"xxhash64({', '.join(parts)})"


def _hashed(rows: DataFrame, name: str | None, old: str) -> DataFrame:
    """`name, hash, old` of each row."""
    own = row_hash(rows)
    return rows.selectExpr(f"{name or f'string({own})'} AS name", f"{own} AS hash", f"{old} AS old")


def _parts(field: T.StructField) -> tuple[str, str]:
    """What of a column goes into the hash, which passes over NULLs wherever they stand."""
    name = quote_ident(field.name)
    value = f"CAST({name} AS string)" if isinstance(field.dataType, _NESTED) else name
    return value, f"{name} IS NULL"
