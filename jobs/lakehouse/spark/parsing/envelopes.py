"""Envelopes: bronze messages parsed once, each with its place in the run.

In: bronze rows of a source from given offsets on. Out: one row per message with what is common to
all tables: role, reason to quarantine, operation, identity, position, transaction, schema
fingerprint, and the payload as VARIANT, from which each table's rows are decoded later. VARIANT
keeps numbers exact and refuses duplicate keys, unlike from_json
(https://spark.apache.org/docs/latest/sql-ref-datatypes.html).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import Connector
from lakehouse.envelope import NEW_KEY, OLD_KEY, PLACEHOLDER_MARKS, TRUNCATE
from lakehouse.plan.epochs import Epoch
from lakehouse.spark.parsing import placing, positions
from lakehouse.spark.parsing.documents import with_documents
from lakehouse.spark.parsing.epochs import confirmed_log, log_of
from lakehouse.spark.parsing.heads import Head, without_heads
from lakehouse.spark.parsing.mapped_tables import by_topic, with_mapped_table
from lakehouse.spark.parsing.reasons import IDENTITY, judge, minus_zero, symptoms
from lakehouse.spark.sql import any_of, literal

# To parse a message is as much work as a query's over so many rows.
ROWS_OF_WORK = 4
# Comments may stand before it; ALTER TABLE … TRUNCATE PARTITION is none.
_TRUNCATE_STATEMENT = r"(?is)^(\s|/\*.*?\*/)*truncate\s"
_COMMON = ("connector", "name", "snapshot", "ts_ms", "gtid", "txId", "lsn", *IDENTITY.values())


def parse(
    messages: DataFrame,
    source: SourceConfig,
    connector: Connector,
    topics: list[str],
    epochs: Sequence[Epoch] = (),
    heads: Sequence[Head] = (),
) -> DataFrame:
    """The envelopes of messages.

    Args:
        messages: Bronze rows.
        source: Says which topic holds what.
        connector: Its position fields and transaction ids.
        topics: The topics that occur.
        epochs: The logs that the source has had.
        heads: What the messages of its topics begin with, as far as it was looked through.

    Returns:
        `topic, partition, offset, topic_id, landed_at, key, value_null, role, reason, control, op,
        is_schema_change, database, schema_name, table_name, incarnation, renamed, collection,
        snapshot, log, position, running, unplaced, high, transaction, total_order, fingerprint,
        key_fields, key_tokens, is_large, octets, has_placeholder, minus_zero, has_schema, payload,
        source_ts_ms, gtid, source_transaction, source_lsn, arrived_ms, alone, moves`; `octets` says
        how much text it has but for its schema, `moves` of halves of key changes that they are,
        `alone` of which no transaction keeps them together.
    """
    # Most topics are data's, of which there may be thousands.
    roles = {topic: topic_role(source, topic) or TopicRole.DATA for topic in topics}
    others = {topic: str(role) for topic, role in roles.items() if role is not TopicRole.DATA}
    documents = without_heads(messages, heads).select(
        "topic",
        "partition",
        "offset",
        "timestamp",
        "topic_id",
        "landed_at",
        "key",
        F.col("value").isNull().alias("value_null"),
        F.coalesce(by_topic(others), F.lit(str(TopicRole.DATA))).alias("role"),
        *symptoms(),
        _is_half().alias("is_half"),
        "head",
        "key_document",
        "is_key_cut",
        "value",
    )
    payloads = with_documents(documents)
    fields = payloads.select(
        "*",
        minus_zero().alias("minus_zero"),
        _has_placeholder().alias("has_placeholder"),
        F.try_variant_get("payload", "$", _members(connector)).alias("members"),
        F.try_variant_get("key_payload", "$", "map<string,string>").alias("key_tokens"),
    )
    identified = with_mapped_table(_with_operation(fields, connector), source, topics)
    placed = _place(identified, connector)
    return judge(_in_logs(_alone(placed, source), epochs), source, connector)


def _members(connector: Connector) -> str:
    """What is read of a payload, in one look (see `documents`), as a type of Spark SQL."""
    members = {
        "op": "string",
        "tableChanges": "variant",
        "ddl": "string",
        "source": source_struct(connector),
        "transaction": "struct<id:string,total_order:string>",
        "id": "string",
    }
    return f"struct<{','.join(f'{name}:{kind}' for name, kind in members.items())}>"


def _with_operation(fields: DataFrame, connector: Connector) -> DataFrame:
    """`op`, and whether the message is a schema change between data events.

    Where schema changes stand there, a truncate is one, and only its statement tells.
    """
    sent = F.col("members.op")
    between = F.lit(connector.schema_changes_in_data) & sent.isNull()
    is_schema_change = between & F.col("members.tableChanges").isNotNull()
    is_truncate = is_schema_change & F.col("members.ddl").rlike(_TRUNCATE_STATEMENT)
    return fields.select(
        "*",
        F.col("members.source").alias("s"),
        F.col("members.transaction").alias("t"),
        F.when(is_truncate, F.lit(TRUNCATE)).otherwise(sent).alias("op"),
        is_schema_change.alias("is_schema_change"),
    )


def _place(fields: DataFrame, connector: Connector) -> DataFrame:
    """Identity, position and transaction from the source block."""
    parts = [positions.field_text(field) for field in connector.position]
    return positions.with_digits(fields, connector).select(
        "*",
        *(F.col("s").getField(path).alias(name) for name, path in IDENTITY.items()),
        F.concat_ws(".", *(F.col("s").getField(part) for part in connector.collection_parts)).alias(
            "collection"
        ),
        _fingerprint().alias("fingerprint"),
        F.coalesce(F.col("s.snapshot"), F.lit("false")).alias("snapshot"),
        positions.join(placing.position_parts(parts, connector)).alias("position"),
        placing.is_running(parts, connector).alias("running"),
        placing.is_unplaced(connector).alias("unplaced"),
        placing.highest(parts, connector).alias("high"),
        _transaction_id(connector).alias("transaction"),
        F.col("t.total_order").try_cast("bigint").alias("total_order"),
        F.to_json(F.sort_array(F.map_keys("key_tokens"))).alias("key_fields"),
        F.col("s.ts_ms").try_cast("bigint").alias("source_ts_ms"),
    )


def _in_logs(placed: DataFrame, epochs: Sequence[Epoch]) -> DataFrame:
    """With `log`, and what each log counts anew behind what older ones counted."""
    if not epochs:
        return placed.withColumn("log", F.lit(""))
    with_log = placed.withColumn("log", F.expr(log_of(epochs, "s.gtid", "position")))
    mine = F.expr(confirmed_log(epochs))
    return with_log.withColumns(
        {
            "position": F.concat("log", "position"),
            "transaction": F.concat(mine, "transaction"),
        }
    )


def _fingerprint() -> Column:
    """Of the schema; of the table where the message carries none."""
    identity = F.xxhash64(*(F.col("s").getField(path) for path in IDENTITY.values()))
    schema = F.expr("if(row_schema IS NOT NULL, xxhash64(row_schema), NULL)")
    own = F.coalesce("head", schema, identity)
    # The schema of a schema change is not the table's.
    return F.when(~F.col("is_schema_change"), own)


def _transaction_id(connector: Connector) -> Column:
    """Of an event, and of what begins or ends a transaction."""
    is_mark = F.col("role") == str(TopicRole.TRANSACTION)
    text = F.when(is_mark, F.col("members.id")).otherwise(F.col("t.id"))
    if connector.transaction_separator is None:
        return text
    return F.substring_index(text, connector.transaction_separator, 1)


def source_struct(connector: Connector) -> str:
    """The members of a source block that are read, as a type of Spark SQL."""
    names = dict.fromkeys((*_COMMON, *connector.source_fields))
    return f"struct<{','.join(f'`{name}`:string' for name in names)}>"


def _has_placeholder() -> Column:
    # Java looks for fixed text by its last character first, Spark's `contains` at every octet.
    marks = (f"text RLIKE {literal(re.escape(mark))}" for mark in PLACEHOLDER_MARKS)
    return F.expr(f"coalesce({any_of(marks)}, false)")


def _is_half() -> Column:
    """Whether a message may be half of a key change; the tombstone between them has it too."""
    names = f"array({literal(NEW_KEY)}, {literal(OLD_KEY)})"
    return F.expr(f"value IS NOT NULL AND arrays_overlap(headers.key, {names})")


def _alone(placed: DataFrame, source: SourceConfig) -> DataFrame:
    """With `alone`; whole transactions keep the halves of their key changes together."""
    is_kept = source.transactions.consistent and source.kafka.transactions is not None
    is_alone = "is_half AND transaction IS NULL" if is_kept else "is_half"
    return placed.selectExpr("*", f"{is_alone} AS alone", "unix_millis(timestamp) AS arrived_ms")
