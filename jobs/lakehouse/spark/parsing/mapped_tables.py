"""Mapped tables: the table that the TOML file maps a topic to, where a source block names none."""

from __future__ import annotations

from collections.abc import Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import SourceConfig, mapped_table
from lakehouse.names import TableIdentity
from lakehouse.spark.parsing.reasons import IDENTITY


def with_mapped_table(rows: DataFrame, source: SourceConfig, topics: list[str]) -> DataFrame:
    """Rows whose source block `s` names a table, by their topic where it named none.

    Args:
        rows: Have `topic` and `s`.
        source: Maps topics to tables.
        topics: The topics that occur.
    """
    mapped = {topic: table for topic in topics if (table := mapped_table(source, topic))}
    if not mapped:
        return rows
    lacks = F.coalesce(F.col("s.table"), F.lit("")) == ""
    block = F.col("s")
    for path in IDENTITY.values():
        given = {topic: _parts(table)[path] for topic, table in mapped.items()}
        found = by_topic({t: part for t, part in given.items() if part is not None})
        part = F.when(lacks, F.coalesce(found, F.col("s").getField(path)))
        block = block.withField(path, part.otherwise(F.col("s").getField(path)))
    return rows.withColumn("s", block)


def by_topic(values: Mapping[str, str]) -> Column:
    """The value of each row's topic; NULL where it has none."""
    pairs = [F.lit(text) for pair in values.items() for text in pair]
    topic = F.col("topic")
    return F.element_at(F.create_map(*pairs), topic) if pairs else F.lit(None).cast("string")


def _parts(table: TableIdentity) -> dict[str, str | None]:
    """A table's identity as a source block writes it."""
    return {"db": table.database, "schema": table.schema_name, "table": table.table}
