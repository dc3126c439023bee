"""Places of events in the source's order, as far as a message alone tells them.

In: the operation, the source block `s` and its position fields as text. Out: the parts of the
position, and whether something else has to complete them (`ordering.stand_ins`).
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column

from lakehouse.connectors import Connector
from lakehouse.envelope import INCREMENTAL, READ
from lakehouse.spark.parsing import positions


def position_parts(parts: list[Column], connector: Connector) -> list[Column]:
    """The position's parts, with the rules for read events.

    A read event of an incremental snapshot counts by its commit part alone. Where the commit part
    may be null, any other read event gets its place from what was streamed before it
    (`ordering.stand_ins`), and until then the lowest one there is.
    """
    incremental = (F.col("op") == READ) & (F.col("s.snapshot") == INCREMENTAL)
    placed = list(parts)
    if connector.commit_may_be_null:
        placed[0] = F.when(incremental, F.coalesce(parts[0], parts[1])).otherwise(parts[0])
    for index in range(connector.commit_fields, len(parts)):
        field = connector.position[index]
        placed[index] = F.when(incremental, positions.lowest(field)).otherwise(parts[index])
    if not connector.commit_may_be_null:
        return placed
    unplaced = is_unplaced(connector) & parts[1].isNotNull()
    return [
        F.when(unplaced, positions.lowest(field)).otherwise(part)
        for part, field in zip(placed, connector.position, strict=True)
    ]


def is_unplaced(connector: Connector) -> Column:
    """Whether it is a read event that what was streamed before it places.

    Its own number is higher than the commit part of changes that come after it: that of a
    transaction that was open at the snapshot, and after an ad-hoc blocking snapshot of every
    transaction up to the next commit.
    """
    if not connector.commit_may_be_null:
        return F.lit(False)
    other = F.coalesce(F.col("s.snapshot"), F.lit("")) != INCREMENTAL
    return F.coalesce(F.col("op") == READ, F.lit(False)) & other


def is_running(parts: list[Column], connector: Connector) -> Column:
    """Whether the highest number seen before must stand in for the commit part."""
    if not connector.commit_may_be_null:
        return F.lit(False)
    return (F.col("op") != READ) & parts[0].isNull() & parts[1].isNotNull()


def highest(parts: list[Column], connector: Connector) -> Column:
    """The highest part of a streamed event, where one may stand in for the commit part.

    They have one width: the order of their text is that of their numbers.
    """
    if not connector.commit_may_be_null:
        return F.lit(None).cast("string")
    return F.when(F.col("op") != READ, F.greatest(*parts))
