"""Events that may be in silver already: which of them are redeliveries.

In: envelopes, some of which are `suspect`: their position is not behind all that is applied, or
something else had to complete it (`stand_ins`). Out: the same rows, with `redelivered` set where
the same event stands at a lower offset of the topic partition (`design.md` §3).
"""

from __future__ import annotations

from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import TopicRole
from lakehouse.connectors import Connector
from lakehouse.spark.broadcasting import sent
from lakehouse.spark.ordering.same_keys import of_same_keys
from lakehouse.spark.sql import literal

_PLACE = ("topic", "partition")
# An event that nothing was streamed before has the lowest position of its log.
_IS_BEHIND = (
    "unplaced AND key IS NOT NULL AND "
    "translate(substring(position, length(log) + 1), '0.', '') != ''"
)


def suspect(applied_position: str) -> str:
    """Whether an envelope may be of an event that silver has, as a condition.

    A source snapshot behind changes reads again, or comes again: its position, which the changes
    gave it, does not tell. Rows without a key may be equal in one snapshot: none tells them apart.

    Args:
        applied_position: The highest position that is applied; empty for none.
    """
    is_event = f"role = {literal(TopicRole.DATA)} AND reason IS NULL AND NOT control"
    older = f"position <= {literal(applied_position)} AND NOT unplaced"
    return f"{is_event} AND (running OR ({older}) OR ({_IS_BEHIND}))"


def mark(
    envelopes: DataFrame,
    history: DataFrame,
    connector: Connector,
    applied_position: str,
    most: int,
) -> DataFrame:
    """Mark suspects that are in bronze already.

    Args:
        envelopes: The batch, placed.
        history: Parsed envelopes of the suspects' topic partitions before the batch, at least of
            the same keys.
        connector: Its position fields.
        applied_position: The highest position that is applied; empty for none.
        most: How many suspects there are at most.
    """
    candidates = envelopes.where(suspect(applied_position))
    alike = history.unionByName(of_same_keys(envelopes, candidates, most))
    found = repeated(candidates, alike, connector)
    marks = sent(found.withColumn("redelivered", F.lit(True)), most)
    return envelopes.join(marks, [*_PLACE, "offset"], "left").withColumn(
        "redelivered", F.coalesce("redelivered", F.lit(False))
    )


def repeated(candidates: DataFrame, messages: DataFrame, connector: Connector) -> DataFrame:
    """Where candidates stand of which the same event stands at a lower offset.

    Args:
        candidates: Envelopes.
        messages: Envelopes of their topic partitions, at least of the same keys.
        connector: Its position fields.

    Returns:
        `topic, partition, offset`.
    """
    mine, names = _events(candidates, connector), [*_PLACE, *_identity(connector)]
    older = _events(messages, connector).withColumnRenamed("offset", "older")
    same = [F.col(f"c.{name}").eqNullSafe(F.col(f"o.{name}")) for name in names]
    condition = reduce(Column.__and__, same) & (F.col("o.older") < F.col("c.offset"))
    found = mine.alias("c").join(
        older.alias("o"), condition & F.expr(_same_place(connector)), "left_semi"
    )
    return found.select(*_PLACE, "offset")


def _identity(connector: Connector) -> tuple[str, ...]:
    """What two deliveries of one event have in common, and two events of one key have not.

    A position that may be stood in for is none; the change's own number is unique there, but for
    the rows of one COPY or INSERT, which have one number: without a key their images tell. Where an
    incremental snapshot has read there is no number: the position and the image tell.
    https://github.com/debezium/debezium/pull/7531
    """
    if connector.commit_may_be_null:
        return ("key", "op", "log", "source_transaction", "source_lsn", "row")
    return ("key", "op", "total_order", "image", "source_transaction", "row")


def _same_place(connector: Connector) -> str:
    """Whether two events of one identity, the later one `c`, are one change.

    Another server has it elsewhere. A higher place there is not taken for the same: in a
    transaction without order a value may come back.
    """
    if connector.commit_may_be_null:
        return "true"
    same = "c.position <=> o.position"
    return f"{same} OR (c.gtid = o.gtid AND c.position < o.position)" if connector.gtids else same


def _events(envelopes: DataFrame, connector: Connector) -> DataFrame:
    image = F.expr("xxhash64(try_variant_get(payload, '$.after', 'string')) AS image")
    sent = "xxhash64(try_variant_get(payload, '$.before', 'string'), "
    sent += "try_variant_get(payload, '$.after', 'string'), total_order)"
    # What an incremental snapshot reads has no number of its own: it is read again as it is then.
    read = "xxhash64(position, image)" if connector.commit_may_be_null else "NULL"
    row = F.expr(
        f"CASE WHEN key IS NULL THEN {sent} WHEN source_lsn IS NULL THEN {read} "
        "WHEN unplaced THEN image END AS row"
    )
    with_image = envelopes.select("*", image).select("*", row)
    names = dict.fromkeys((*_identity(connector), "position", "gtid"))
    return with_image.select(*_PLACE, "offset", *names)
