"""Truncates of one table in a batch, and the rows that they mark where deleted rows stay.

In: the batch's envelopes and the table's plan. Out: the truncate events, oldest first, as values
(a table is truncated seldom), and SQL that gives the coordinates of a row's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE, TRUNCATE
from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.decoding.events import of_table
from lakehouse.spark.sql import literal

MAX_TRUNCATES = 10_000


@dataclass(frozen=True, slots=True)
class Truncate:
    """One truncate event. `source_ts_ms` is None where the source gives no time.

    A truncate that is applied may have lost its coordinates, which are None then.
    """

    position: str
    source_ts_ms: int | None
    topic: str | None
    partition: int | None
    offset: int | None


def load_truncates(envelopes: DataFrame, plan: TablePlan, barrier: str) -> tuple[Truncate, ...]:
    """The truncates of a batch that are newer than what is applied, oldest first.

    Args:
        envelopes: The batch.
        plan: Says whether there are any at all.
        barrier: Position of the newest truncate that is applied already; empty for none.

    Raises:
        StepFailed: There are more than the driver may hold.
    """
    if plan.truncate <= barrier:
        return ()
    found = (
        envelopes.where(of_table(plan))
        .where(f"op = {literal(TRUNCATE)} AND position > {literal(barrier)} AND NOT redelivered")
        .groupBy("position")
        .agg(F.expr("min(struct(topic, partition, offset, source_ts_ms)) AS at"))
        .limit(MAX_TRUNCATES + 1)
        .collect()
    )
    if len(found) > MAX_TRUNCATES:
        raise StepFailed(
            f"Table {plan.silver!r}: more than {MAX_TRUNCATES} truncates in one batch: expected a "
            "few; land and apply smaller intervals"
        )
    truncates = (Truncate(position=row["position"], **row["at"].asDict()) for row in found)
    return tuple(sorted(truncates, key=lambda truncate: truncate.position))


def end_of(truncates: Sequence[Truncate], is_behind: str) -> str:
    """SQL: how a row ended that a truncate took, as a struct of `op`, position and coordinates.

    Args:
        truncates: Oldest first; one of them took the row.
        is_behind: SQL that says of a truncate `t` that it is behind the row.
    """
    return f"filter({as_array(truncates)}, t -> {is_behind})[0]"


def as_array(truncates: Iterable[Truncate]) -> str:
    """SQL: the truncates as an array of structs."""
    return f"array({', '.join(map(_struct, truncates))})"


def _struct(truncate: Truncate) -> str:
    topic = "NULL" if truncate.topic is None else literal(truncate.topic)
    return (
        f"named_struct('op', {literal(DELETE)}, 'position', {literal(truncate.position)}, "
        f"'source_ts_ms', {_number(truncate.source_ts_ms, 'bigint')}, "
        f"'topic', CAST({topic} AS string), 'partition', {_number(truncate.partition, 'int')}, "
        f"'offset', {_number(truncate.offset, 'bigint')})"
    )


def _number(value: int | None, kind: str) -> str:
    return f"CAST({'NULL' if value is None else value} AS {kind})"
