"""The loss class of every column of a source's silver tables, from the recorded schema versions.

In: rows of `quality.schema_versions`. Out: silver table → its columns. A column that was lossy in
one version still holds rows of it: the worst class of all versions counts. A column that has left
silver is none of them. No Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import silver_namespace
from lakehouse.plan.batches.losses import MASK, ColumnFacts, Loss, LossClass, loss_of, worst_of
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.schemas.dropped_columns import NOTHING, dropped_columns
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.versions import FOLLOWED


def column_losses(
    rows: Sequence[SchemaVersionRow], source: SourceConfig
) -> dict[str, tuple[Loss, ...]]:
    """Silver table, namespace included → its columns in the order in which they came.

    Args:
        rows: Of one source, oldest first.
        source: The source.
    """
    connector = CONNECTORS[source.connector]
    lives = incarnations(rows, source.connector)
    dropped = dropped_columns(rows, source, lives)
    versions = [row for row in rows if row.verdict in FOLLOWED]
    declared = _source_types(versions)
    found: dict[str, dict[str, list[Loss]]] = {}
    for row in versions:
        if row.is_from_ddl:
            continue
        columns = found.setdefault(f"{silver_namespace(source.name)}.{row.table}", {})
        table = lives.today(row.source_table, source.connector)
        life = table.parts(source.connector), table.incarnation
        gone = dropped.get(life, NOTHING).names
        for value in json.loads(row.columns):
            if value["name"].lower() in gone:
                continue
            facts = _facts(value, declared.get(row.identity, {}))
            columns.setdefault(facts.name.lower(), []).append(loss_of(facts, connector))
    return {
        table: tuple(worst_of(losses) for losses in columns.values())
        for table, columns in found.items()
    }


def lossy_columns(rows: Sequence[SchemaVersionRow], source: SourceConfig) -> dict[str, list[str]]:
    """Silver table, namespace included → its lossy columns, each with the reason; no masked one."""
    return {
        table: [
            f"{c.name} ({c.reason})"
            for c in columns
            if c.loss is LossClass.LOSSY and c.fact != MASK
        ]
        for table, columns in column_losses(rows, source).items()
    }


def _source_types(rows: Iterable[SchemaVersionRow]) -> dict[str, dict[str, str]]:
    """Table → column in lower case → its type as the schema change topic says it last."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.is_from_ddl:
            types = {c["name"].lower(): str(c["type"]) for c in json.loads(row.columns)}
            found.setdefault(row.identity, {}).update(types)
    return found


def _facts(value: Mapping[str, str], source_types: Mapping[str, str]) -> ColumnFacts:
    name = value["name"]
    return ColumnFacts(
        name=name,
        type=value["type"],
        wire=value.get("wire", ""),
        semantic=value["semantic"],
        doc=value["doc"],
        source_type=value.get("source_type") or source_types.get(name.lower(), ""),
    )
