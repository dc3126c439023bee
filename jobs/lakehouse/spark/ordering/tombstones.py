"""Tombstones without a key: what stands right behind the delete event of a table without a key.

In: envelopes, some of which have neither key nor value (`empty_message`). Out: the same, those
that follow such a delete in their topic partition taken for control messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.envelope import DELETE
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.spark.ordering.maxima import with_greatest_before
from lakehouse.spark.parsing.reasons import EMPTY_MESSAGE
from lakehouse.spark.sql import any_of, in_partition, literal

_IS_EMPTY = f"reason <=> {literal(EMPTY_MESSAGE)}"
_IS_DELETE = f"coalesce(op = {literal(DELETE)} AND key IS NULL AND reason IS NULL, false)"
_PLACE = ("topic", "partition")


def without_tombstones(
    envelopes: DataFrame,
    places: list[TopicPartition],
    earlier: Callable[[Iterable[str]], DataFrame],
) -> DataFrame:
    """Recognise tombstones among the empty messages.

    Args:
        envelopes: The batch, kept: it is read several times.
        places: Where there are empty messages; of none nothing is done.
        earlier: Reads the envelopes before the batch, of some topics; asked only where the first
            message is empty, which may follow a delete event.
    """
    if not places:
        return envelopes
    firsts = envelopes.where(any_of(map(in_partition, places))).groupBy(*_PLACE)
    found = firsts.agg(F.expr("min_by(reason, offset) AS reason")).collect()
    first = [(row["topic"], row["partition"]) for row in found if row["reason"] == EMPTY_MESSAGE]
    before = (
        earlier({topic for topic, _ in first})
        .where(any_of(map(in_partition, first)))
        .groupBy(*_PLACE)
        .agg(F.expr(f"max_by({_IS_DELETE}, offset) AS was_delete"))
    )
    last = f"struct(offset, {_IS_DELETE} AS is_delete)"
    after = with_greatest_before(envelopes, _IS_EMPTY, last, "last", _PLACE)
    known = after.join(F.broadcast(before), list(_PLACE), "left")
    follows = f"{_IS_EMPTY} AND coalesce(last.is_delete, was_delete, false)"
    marked = known.selectExpr("*", f"{follows} AS is_tombstone")
    changed = {
        "reason": F.expr("if(is_tombstone, NULL, reason)"),
        "control": F.expr("control OR is_tombstone"),
    }
    return marked.withColumns(changed).select(*envelopes.columns)
