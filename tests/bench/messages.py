"""Change events of accounts as Debezium's PostgreSQL connector sends them, without schemas.

There may be many tables of accounts, `accounts_0` and so on, each with the same rows and changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from types import MappingProxyType

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from tests.bench.accounts import COLUMNS, Batch, row

PREFIX = "bench"
_TABLE = "accounts_"
_TOPIC = f"{PREFIX}.public.{_TABLE}"
# So far apart that no batch reaches the next one's; the first load stands before all of them.
_LOG, _STEP, _TOGETHER = 1_000_000_000_000, 48, 100
_SENT = datetime(2026, 1, 1, tzinfo=UTC)
_SENT_MS = int(_SENT.timestamp() * 1000)
WIDE = {f"c{n:02}": f"concat('column {n} of ', aid % 1000003, '.', v)" for n in range(4, 60)}
# Types of Spark as PostgreSQL calls them.
DECLARED: Mapping[str, str] = MappingProxyType(
    {"bigint": "bigint", "int": "integer", "string": "varchar"}
)
_DIGITS = "md5(CAST(aid AS STRING))"
_GROUPS = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
_UUID = ", ".join(f"substr({_DIGITS}, {start}, {length})" for start, length in _GROUPS)


@dataclass(frozen=True)
class Key:
    """What names an account, in place of its number or beside it.

    Attributes:
        columns: Those of the key.
        more: Columns beside those of an account, and their values as SQL.
    """

    columns: tuple[str, ...]
    more: Mapping[str, str] = field(default_factory=dict)


KEYS: Mapping[str, Key] = MappingProxyType(
    {
        "bigint": Key(("aid",)),
        "composite": Key(("bid", "aid")),
        "uuid": Key(("uid",), {"uid": f"concat_ws('-', {_UUID})"}),
    }
)
_BY_NUMBER = KEYS["bigint"]


def table_name(number: int) -> str:
    """How a table of accounts is called in its schema."""
    return f"{_TABLE}{number}"


def topic(number: int) -> str:
    """The topic of a table."""
    return f"{_TOPIC}{number}"


def first_load(
    spark: SparkSession, rows: int, tables: Iterable[int] = (0,), key: Key = _BY_NUMBER
) -> DataFrame:
    """Read events of a source snapshot: bronze's columns up to `headers`, and `n`."""
    places = _places(spark, rows, tables).selectExpr("*", "i AS aid", "'r' AS op", "0L AS v")
    lsn, sequence = "CAST(1000 AS BIGINT)", "concat('[null,\"', lsn, '\"]')"
    return _messages(places, "'true'", lsn, sequence, key)


def changes(
    spark: SparkSession,
    batch: Batch,
    tables: Iterable[int] = (0,),
    key: Key = _BY_NUMBER,
    *,
    is_start: bool = False,
) -> DataFrame:
    """The events of a batch, each in its place: bronze's columns up to `headers`, and `n`.

    Args:
        spark: The session.
        batch: The events.
        tables: Each of these has them.
        key: What names an account, and the columns beside its own.
        is_start: Whether they are the first ones behind the connector's start, which tell of no
            commit.
    """
    _places(spark, batch.changes, tables).createOrReplaceTempView("places")
    events = spark.sql(batch.events("SELECT * FROM places"))
    lsn = f"{_LOG} * {batch.number} + (n * {batch.changes} + i) * {_STEP}"
    commit = "'null'" if is_start else f"concat('\"', lsn - {_STEP}, '\"')"
    sequence = f"concat('[', {commit}, ',\"', lsn, '\"]')"
    return _messages(events, "'false'", lsn, sequence, key)


def wide(spark: SparkSession, batch: Batch, tables: Iterable[int] = (0,)) -> DataFrame:
    """The events of a batch with 56 columns more, some 2.3 kB each."""
    return changes(spark, batch, tables, Key(_BY_NUMBER.columns, WIDE))


def first_run(spark: SparkSession, batch: Batch) -> DataFrame:
    """A first load and what is streamed behind it, at one offset each."""
    streamed = changes(spark, batch, is_start=True)
    behind = streamed.withColumn("offset", F.expr(f"offset + {batch.rows}L"))
    return first_load(spark, batch.rows).unionByName(behind)


def history(spark: SparkSession, batches: Sequence[Batch]) -> DataFrame:
    """A first load and all batches behind it, at one offset each."""
    rows = batches[0].rows
    parts = [first_load(spark, rows)]
    for batch in batches:
        start = rows + (batch.number - 1) * batch.changes
        parts.append(changes(spark, batch).withColumn("offset", F.expr(f"offset + {start}L")))
    return reduce(DataFrame.unionByName, parts)


def _places(spark: SparkSession, count: int, tables: Iterable[int]) -> DataFrame:
    """So many places `i` in each of the tables `n`."""
    numbers = ", ".join(map(str, tables))
    return spark.range(count).selectExpr("id AS i", f"explode(array({numbers})) AS n")


def _messages(events: DataFrame, snapshot: str, lsn: str, sequence: str, key: Key) -> DataFrame:
    image, named = _struct((*COLUMNS, *key.more)), _struct(key.columns)
    others = (f"{value} AS {name}" for name, value in key.more.items())
    rows = events.selectExpr("i", "n", "op", f"{lsn} AS lsn", *row(), *others)
    source = (
        "named_struct('version', '3.6.1.Final', 'connector', 'postgresql', "
        f"'name', '{PREFIX}', 'ts_ms', {_SENT_MS}, 'snapshot', {snapshot}, 'db', '{PREFIX}', "
        f"'sequence', {sequence}, 'ts_us', {_SENT_MS}000L, 'ts_ns', {_SENT_MS}000000L, "
        f"'schema', 'public', 'table', concat('{_TABLE}', n), "
        f"'txId', 700 + CAST(i / {_TOGETHER} AS BIGINT), 'lsn', lsn, 'xmin', CAST(NULL AS BIGINT))"
    )
    envelope = (
        f"named_struct('before', if(op = 'd', {named}, NULL), "
        f"'after', if(op = 'd', NULL, {image}), 'source', {source}, "
        f"'transaction', CAST(NULL AS STRING), 'op', op, 'ts_ms', {_SENT_MS}, "
        f"'ts_us', {_SENT_MS}000L, 'ts_ns', {_SENT_MS}000000L)"
    )
    return rows.selectExpr(
        "n",
        f"concat('{_TOPIC}', n) AS topic",
        "0 AS partition",
        "i AS offset",
        f"timestamp_millis({_SENT_MS}) AS timestamp",
        "0 AS timestamp_type",
        f"CAST(to_json({named}) AS BINARY) AS key",
        f"CAST(to_json({envelope}, map('ignoreNullFields', 'false')) AS BINARY) AS value",
        "CAST(NULL AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers",
    )


def _struct(names: Iterable[str]) -> str:
    named = ", ".join(f"'{name}', {name}" for name in names)
    return f"named_struct({named})"
