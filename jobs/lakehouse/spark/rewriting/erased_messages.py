"""What an erasure does to bronze: messages keep their place in the log and lose what they say.

In: the keys of a table's rows. Out: one commit on bronze's `main` after which those messages have
neither key nor headers, and of their value only where it stood in the source's log, so that counts
of messages and of transactions hold as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.connectors import Connector
from lakehouse.envelope import ERASED
from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark import branches, metadata, tables
from lakehouse.spark.bronze.table import OFFSETS_PROPERTY, RUN_ID_PROPERTY, Bronze
from lakehouse.spark.decoding.events import table_rows
from lakehouse.spark.once import once
from lakehouse.spark.parsing.envelopes import source_struct
from lakehouse.spark.sql import all_of, literal

_PLACE = ("topic", "partition", "offset")
_VIEW = "erased_messages"
_BRANCH = "landing_erase_"
_TRANSACTION = "struct<id:string,total_order:string,data_collection_order:string>"


_NO_HEADERS = "array()"


def is_erased(prefix: str) -> str:
    """SQL for whether a message of bronze was erased.

    Args:
        prefix: What the names of its columns begin with.
    """
    start = literal(f'{{"op":"{ERASED}"')
    return f"({prefix}key IS NULL AND coalesce(startswith({prefix}value, binary({start})), false))"


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a subject.

    Attributes:
        rows: `topic, partition, offset, value`: where each stands, and what stays of it.
        count: How many there are.
        waiting: How many more stand behind the newest cut.
        moves: How many of them change a row's key.
    """

    rows: DataFrame
    count: int
    waiting: int
    moves: int


def keys_frame(
    spark: SparkSession, keys: Iterable[tuple[str | None, ...]], types: Sequence[str]
) -> DataFrame:
    """`key` of each key, once: text as silver's state table names a row.

    Args:
        spark: The session.
        keys: The values of each key as text.
        types: The Spark types of the key's columns.

    Raises:
        StepFailed: A value is none of its column's type as silver spells it.
    """
    given = spark.createDataFrame([(list(values),) for values in keys], "parts array<string>")
    fits = all_of(
        f"(CAST(try_cast(parts[{at}] AS {kind}) AS string) <=> parts[{at}])"
        for at, kind in enumerate(types)
        if kind != "binary"
    )
    if bad := given.where(f"NOT ({fits})").count():
        raise StepFailed(
            f"--key: {bad} keys are none of this table: expected values of {', '.join(types)} as "
            "silver has them; nothing was changed"
        )
    text = "to_json(parts, map('ignoreNullFields', 'false')) AS key"
    return given.selectExpr(text).distinct()


def find_messages(
    bronze: DataFrame,
    envelopes: DataFrame,
    connector: Connector,
    keyed: tuple[TablePlan, DataFrame, bytes],
) -> Messages:
    """The messages that name a key, readable or not.

    What cannot be read, and a tombstone, has its key's bytes in common with what can.

    Args:
        bronze: All messages of the source.
        envelopes: Those up to the newest cut, parsed.
        connector: Its position fields.
        keyed: The table, `key` of its rows that are meant, and the secret of hashed columns.
    """
    plan, keys, secret = keyed
    rows = table_rows(envelopes, plan, secret).select(*_PLACE, "row_key")
    named = rows.join(F.broadcast(keys), F.col("row_key") == F.col("key"), "left_semi")
    named = once(named.select(*_PLACE).distinct(), eager=True)
    theirs = bronze.join(F.broadcast(named), list(_PLACE), "left_semi")
    same = once(theirs.where("key IS NOT NULL").select("topic", "key").distinct(), eager=True)
    alike = bronze.join(F.broadcast(same), ["topic", "key"], "left_semi").select(*_PLACE)
    every = alike.unionByName(named).distinct()
    # What stands behind the newest cut is not among the envelopes.
    found = envelopes.select(*_PLACE, "payload", "moves", F.expr("true AS in_cut")).join(
        every, list(_PLACE), "right"
    )
    kept = found.selectExpr(*_PLACE, "moves", "in_cut", f"{_what_stays(connector)} AS value")
    kept = once(kept, eager=True)
    counts = kept.selectExpr(
        "count_if(in_cut) AS count",
        "count_if(in_cut IS NULL) AS waiting",
        "count_if(moves) AS moves",
    ).collect()[0]
    rows = kept.where("in_cut").select(*_PLACE, "value")
    return Messages(rows, counts["count"], counts["waiting"], counts["moves"])


def _what_stays(connector: Connector) -> str:
    """SQL for the value that stays: no row, no statement, nothing but places in the log."""
    source = f"try_variant_get(payload, '$.source', {literal(source_struct(connector))})"
    transaction = f"try_variant_get(payload, '$.transaction', {literal(_TRANSACTION)})"
    return (
        f"CAST(to_json(named_struct('op', {literal(ERASED)}, 'source', {source}, "
        f"'transaction', {transaction})) AS binary)"
    )


def erase_messages(
    spark: SparkSession, bronze: Bronze, found: Messages, run_id: str, check: Callable[[], None]
) -> None:
    """Replace messages on bronze's `main`, which must not move meanwhile.

    Args:
        spark: The session.
        bronze: The table.
        found: The messages.
        run_id: Names the run in the commit.
        check: Refuses to go on once another run took the lease.

    Raises:
        MainMoved: A landing or a compaction came first.
    """
    found.rows.createOrReplaceTempView(_VIEW)
    for ref in metadata.refs(bronze.ledger.catalog, bronze.table):
        if ref.startswith(_BRANCH):
            # Of an erasure that was killed: there is one at a time.
            branches.drop_branch(spark, bronze.table, ref)
    branch = f"{_BRANCH}{run_id}".replace("-", "_")
    branches.create_branch(spark, bronze.table, branch)
    try:
        summary = {
            OFFSETS_PROPERTY: bronze.landed(spark, branch).to_json(),
            RUN_ID_PROPERTY: run_id,
        }
        tables.merge_on_branch(spark, bronze.table, branch, _merge(found.rows), summary)
        check()
        branches.fast_forward(spark, bronze.table, branch)
    finally:
        branches.drop_branch(spark, bronze.table, branch)


def _merge(rows: DataFrame) -> str:
    """Of files that hold none of these offsets nothing is read."""
    bounds = rows.groupBy("topic").agg(F.min("offset").alias("a"), F.max("offset").alias("b"))
    inside = " OR ".join(
        f"t.topic = {literal(row['topic'])} AND t.offset BETWEEN {row['a']} AND {row['b']}"
        for row in bounds.collect()
    )
    same = " AND ".join(f"t.{name} = e.{name}" for name in _PLACE)
    return (
        f"USING {_VIEW} AS e ON {same} AND ({inside}) "
        f"WHEN MATCHED THEN UPDATE SET key = NULL, headers = {_NO_HEADERS}, value = e.value"
    )
