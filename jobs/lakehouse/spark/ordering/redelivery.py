"""Events that may be in silver already: their place in the order, and which are redeliveries.

In: envelopes, some of which are `suspect`: their position is not behind all that is applied, or
they carry no commit position because they are of the first transaction after a connector's start
(PostgreSQL; `running`) or of a source snapshot behind changes (`unplaced`). Out: the same rows,
each with a position, and `redelivered` set where the same event stands at a lower offset of the
topic partition (`design.md` §3). For a running event the highest number streamed before it in the
topic partition, at least its own, stands in for the commit part; a read event (`unplaced`) stands
where the newest event stands that was streamed before it, and comes after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame, Window, WindowSpec

from lakehouse.config import TopicRole
from lakehouse.connectors import Connector
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.progress import Progress
from lakehouse.spark.parsing import positions
from lakehouse.spark.parsing.epochs import log_in
from lakehouse.spark.sql import in_partition, literal

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
) -> DataFrame:
    """Mark suspects that are in bronze already.

    Args:
        envelopes: The batch, placed.
        history: Parsed envelopes of the suspects' topic partitions before the batch, at least of
            the same keys.
        connector: Its position fields.
        applied_position: The highest position that is applied; empty for none.
    """
    candidates = envelopes.where(suspect(applied_position))
    found = repeated(candidates, history.unionByName(envelopes), connector)
    marks = found.withColumn("redelivered", F.lit(True))
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


def place(envelopes: DataFrame, progress: Progress, connector: Connector) -> DataFrame:
    """Give running and unplaced events their position.

    Args:
        envelopes: The batch.
        progress: Has the highest numbers and the newest events before the batch.
        connector: Its position fields.
    """
    before = (
        Window.partitionBy(*_PLACE, "log")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    running = F.concat("log", _running(before, progress, connector))
    placed = envelopes.withColumn(
        "position", F.when(F.col("running"), running).otherwise(F.col("position"))
    )
    tops = _carried({p: (log_in(t.position), t.position) for p, t in progress.tops.items()})
    streamed = F.max(F.when(F.col("high").isNotNull(), F.col("position"))).over(before)
    read = F.greatest(streamed, tops, F.col("position"))
    unplaced = F.col("unplaced") & F.col("position").isNotNull()
    return placed.withColumn("position", F.when(unplaced, read).otherwise(F.col("position")))


def _running(before: WindowSpec, progress: Progress, connector: Connector) -> Column:
    """The position of an event without commit position, in its log."""
    highs = _carried({p: (h.log, f"{h.number}") for p, h in progress.highs.items()})
    seen = F.greatest(F.max("high").over(before), highs.cast("decimal(38,0)"), F.col("high"))
    first, second = connector.position
    commit = positions.fixed_width(seen.cast("decimal(38,0)").cast("string"), first)
    own = positions.fixed_width(F.col("high").cast("decimal(38,0)").cast("string"), second)
    return positions.join([commit, own])


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


def _carried(known: Mapping[TopicPartition, tuple[str, str]]) -> Column:
    """What is known of a message's topic partition from before the batch, of the same log.

    Args:
        known: Topic partition → the log, and what is known.
    """
    cases = " ".join(
        f"WHEN {in_partition(place)} AND log = {literal(log)} THEN {literal(text)}"
        for place, (log, text) in known.items()
    )
    return F.expr(f"CASE {cases} END" if cases else "CAST(NULL AS string)")
