"""The profile of a batch: bounded metadata that the driver plans with.

In: parsed envelopes. Out: one `Group` per topic partition, table, schema version and outcome, and
the columns of each version. The number of groups grows with tables, not with messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.config import SourceConfig, TopicRole, mask_secret
from lakehouse.connectors import CONNECTORS
from lakehouse.envelope import DELETE, TRUNCATE
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.masks import masked_schema
from lakehouse.plan.batches.sweeps import ENDS, STARTS
from lakehouse.plan.epochs import High, Top
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.schemas.row_schema import RowSchema, proven_schema, read_schema
from lakehouse.spark.batches.generations import begins_or_ends
from lakehouse.spark.batches.schema_samples import SchemaSamples
from lakehouse.spark.ordering.lanes import IS_STREAMED
from lakehouse.spark.ordering.redelivery import suspect
from lakehouse.spark.sql import literal

Schemas: TypeAlias = Mapping[TableIdentity, Mapping[int, RowSchema]]

MAX_GROUPS = 100_000
_INCREMENTAL = "if(snapshot = 'incremental', position, NULL)"
_IS_DATA = f"role = {literal(TopicRole.DATA)}"
_IS_DELETE = f"{_IS_DATA} AND op = {literal(DELETE)}"
_KEYS = (
    "topic",
    "partition",
    "role",
    "control",
    "is_schema_change",
    "reason",
    "database",
    "schema_name",
    "table_name",
    "incarnation",
    "renamed",
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
        F.max("arrived_ms").alias("arrived_ms"),
        F.expr(f"count_if(op != {literal(TRUNCATE)}) AS rows"),
        F.min("offset").alias("first_offset"),
        F.min("position").alias("first_position"),
        F.max("position").alias("last_position"),
        F.sum(F.col("has_placeholder").cast("int")).alias("placeholders"),
        F.expr(f"count_if({suspect(applied_position)}) AS suspects"),
        F.expr("max(if(unplaced, offset, NULL)) AS last_unplaced"),
        F.expr("min(if(unplaced, NULL, offset)) AS first_placed"),
        F.expr("count_if(alone) AS halves"),
        F.max(F.when(F.col("op") == TRUNCATE, F.col("position"))).alias("truncate"),
        F.expr(f"count_if({begins_or_ends(STARTS)}) AS snapshots_begun"),
        F.expr(f"count_if({begins_or_ends(ENDS)}) AS snapshots_ended"),
        F.expr(f"min({_INCREMENTAL}) AS first_incremental"),
        F.expr(f"max({_INCREMENTAL}) AS last_incremental"),
        F.expr(f"count_if({_IS_DELETE}) AS deletes"),
        F.expr(f"max(if({_IS_DELETE}, offset, NULL)) AS last_delete"),
        F.expr(f"count_if(value_null AND control AND {_IS_DATA}) AS tombstones"),
        F.expr("count_if(is_large) AS large"),
        F.sum("octets").alias("octets"),
        F.expr(f"count_if({_IS_DATA} AND fingerprint IS NOT NULL AND NOT has_schema) AS bare"),
        F.count("transaction").alias("in_transactions"),
        F.expr("max(if(high IS NULL, NULL, struct(log, high))) AS high"),
        F.expr(f"max(if({IS_STREAMED}, struct(position, gtid), NULL)) AS top"),
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
        names = (_text(database), _text(schema_name), table)
        identity = TableIdentity(*names, incarnation=int(str(row["incarnation"])))
    kept = (
        "topic",
        "partition",
        "role",
        "control",
        "is_schema_change",
        "reason",
        "renamed",
        "fingerprint",
        "key_fields",
        "count",
        "arrived_ms",
        "rows",
        "first_offset",
        "first_position",
        "last_position",
        "placeholders",
        "suspects",
        "last_unplaced",
        "first_placed",
        "halves",
        "truncate",
        "snapshots_begun",
        "snapshots_ended",
        "first_incremental",
        "last_incremental",
        "deletes",
        "last_delete",
        "tombstones",
        "large",
        "octets",
        "bare",
        "in_transactions",
    )
    values = {name: row[name] for name in kept}
    high, top = row["high"], row["top"]
    return Group(
        **values,  # type: ignore[arg-type]
        identity=identity,
        collection=_text(row["collection"]) or "",
        high=High(high["log"], int(high["high"])) if isinstance(high, Row) else None,
        top=Top(**top.asDict()) if isinstance(top, Row) else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def load_schemas(
    messages: SchemaSamples,
    envelopes: DataFrame,
    tables: Mapping[TableIdentity, Sequence[Group]],
    source: SourceConfig,
    incarnations: Incarnations,
    *,
    whole: bool = True,
) -> Schemas:
    """The columns of each table's schema versions, as far as masks let them be known.

    Args:
        messages: Of bronze rows of the batch.
        envelopes: The same, parsed.
        tables: The groups of each table.
        source: Its connector, declared types and masks.
        incarnations: What statements told of columns, for messages without a schema.
        whole: Whether the envelopes are those of all messages, and not of some.

    Raises:
        ConfigError: A mask needs the secret, and there is none.
    """
    samples = messages.of(group for mine in tables.values() for group in mine)
    bare = [fingerprint for fingerprint, schema in samples.items() if schema is None]
    proven = messages.proven(envelopes, bare, whole=whole) if bare else {}
    connector, secret = CONNECTORS[source.connector], mask_secret(source)
    found: dict[TableIdentity, dict[int, RowSchema]] = {}
    for identity, mine in tables.items():
        options = source.table_options(identity)
        declared = {name: c.type for name, c in options.columns.items() if c.type}
        for fingerprint, position in _first_positions(mine).items():
            schema = samples[fingerprint]
            if schema is None:
                told = incarnations.types_at(identity, source.connector, position)
                read = proven_schema(proven.get(fingerprint, {}), connector, declared, told)
            else:
                read = read_schema(schema, connector, declared)
            # From here on nothing knows what the source's values of masked columns were.
            found.setdefault(identity, {})[fingerprint] = masked_schema(read, options, secret)
    return found


def _first_positions(groups: Sequence[Group]) -> dict[int, str | None]:
    """Fingerprint → the lowest position of an event that has it; None where none is known."""
    found: dict[int, list[str]] = {}
    for group in groups:
        if group.fingerprint is not None:
            known = [] if group.first_position is None else [group.first_position]
            found.setdefault(group.fingerprint, []).extend(known)
    return {fingerprint: min(positions, default=None) for fingerprint, positions in found.items()}
