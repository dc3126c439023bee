"""Incarnations in a batch: which events are of a table that was dropped before.

In: envelopes and where the source's statements dropped tables. Out: the same, numbered.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.connectors import Connector
from lakehouse.plan.incarnations import Incarnations
from lakehouse.spark.sql import all_of, literal


def with_incarnations(
    envelopes: DataFrame, connector: Connector, incarnations: Incarnations
) -> DataFrame:
    """Tell the events of a table that was dropped from those of the next one of its name."""
    if not incarnations.drops:
        return envelopes
    cases = " ".join(
        f"WHEN {all_of(_has_parts(connector, parts))} THEN {' + '.join(map(_behind, drops))}"
        for parts, drops in sorted(incarnations.drops.items())
    )
    return envelopes.withColumn("incarnation", F.expr(f"CASE {cases} ELSE 0 END"))


def _has_parts(connector: Connector, parts: tuple[str, ...]) -> Iterator[str]:
    columns = {"database": "database", "schema_name": "schema_name", "table": "table_name"}
    for part, text in zip(connector.identity_parts, parts, strict=True):
        yield f"{columns[part]} = {literal(text)}"


def _behind(drop: str) -> str:
    return f"int(coalesce(position > {literal(drop)}, false))"
