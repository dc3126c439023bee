"""The profile of a batch: bounded metadata that the driver plans with.

In: parsed envelopes. Out: one `Group` per topic partition, table, schema version and outcome, and
the schema texts of the versions. The number of groups grows with tables, not with messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson
import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import TRUNCATE
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.groups import Group
from lakehouse.plan.types import Schema
from lakehouse.spark.redelivery import suspect
from lakehouse.spark.sql import any_of, in_partition

MAX_GROUPS = 100_000
_KEYS = (
    "topic",
    "partition",
    "role",
    "control",
    "reason",
    "database",
    "schema_name",
    "table_name",
    "collection",
    "fingerprint",
    "key_fields",
)


def profile(envelopes: DataFrame, applied_position: str = "") -> tuple[Group, ...]:
    """Group the envelopes of a batch.

    Args:
        envelopes: From `parse`.
        applied_position: The highest position that is applied; empty for none.

    Raises:
        StepFailed: There are more groups than the driver may hold.
    """
    groups = envelopes.groupBy(*_KEYS).agg(
        F.count("*").alias("count"),
        F.min("offset").alias("first_offset"),
        F.sum(F.col("has_placeholder").cast("int")).alias("placeholders"),
        F.expr(f"count_if({suspect(applied_position)}) AS suspects"),
        F.max(F.when(F.col("op") == TRUNCATE, F.col("position"))).alias("truncate"),
    )
    rows = groups.limit(MAX_GROUPS + 1).collect()
    if len(rows) > MAX_GROUPS:
        raise StepFailed(
            f"The batch has more than {MAX_GROUPS} combinations of topic partition, table and "
            "schema: expected one per table and version; land and apply smaller intervals"
        )
    return tuple(
        sorted(
            (_group(row.asDict()) for row in rows),
            key=lambda g: (g.topic, g.partition, g.first_offset),
        )
    )


def _group(row: Mapping[str, object]) -> Group:
    table = row["table_name"]
    database, schema_name = row["database"], row["schema_name"]
    readable = row["role"] == "data" and not row["control"] and row["reason"] is None
    identity = None
    if readable and isinstance(table, str):
        identity = TableIdentity(_text(database), _text(schema_name), table)
    kept = (
        "topic",
        "partition",
        "role",
        "control",
        "reason",
        "fingerprint",
        "key_fields",
        "count",
        "first_offset",
        "placeholders",
        "suspects",
        "truncate",
    )
    values = {name: row[name] for name in kept}
    return Group(**values, identity=identity, collection=_text(row["collection"]) or "")  # type: ignore[arg-type]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def load_schemas(messages: DataFrame, groups: Iterable[Group]) -> dict[int, Schema | None]:
    """The schema of each fingerprint, read from one message that carries it.

    Args:
        messages: Bronze rows of the batch.
        groups: The batch's groups.

    Returns:
        Fingerprint → schema; None where the messages carry none.
    """
    samples = {
        group.fingerprint: (group.topic, group.partition, group.first_offset)
        for group in groups
        if group.identity is not None and group.fingerprint is not None
    }
    wanted = any_of(
        f"{in_partition((topic, partition))} AND offset = {offset}"
        for topic, partition, offset in samples.values()
    )
    rows = messages.where(wanted).select("topic", "partition", "offset", "value").collect()
    values = {(row["topic"], row["partition"], row["offset"]): row["value"] for row in rows}
    return {fingerprint: _schema(bytes(values[place])) for fingerprint, place in samples.items()}


def _schema(value: bytes) -> Schema | None:
    document = orjson.loads(value)
    schema = document.get("schema") if isinstance(document, dict) else None
    return schema if isinstance(schema, dict) else None
