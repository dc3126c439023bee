"""The start of an epoch: which events are of the new log, by their GTIDs.

In: events in their lanes, those that are lower than what came before, all events before the batch.
Out: the `Epoch` that begins, or None: a GTID that was there before in its lane is a redelivery on
any server. Only the top's own may go on in a new log: a server may go while it sends a transaction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row

from lakehouse.envelope import INCREMENTAL, READ
from lakehouse.plan.epochs import GTID, MOST_READS, Epoch
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.once import once
from lakehouse.spark.ordering.lanes import (
    EACH_LANE,
    IN_EACH_LANE,
    IS_INCREMENT,
    IS_STREAMED,
    SOURCE,
    SOURCE_LANE,
)
from lakehouse.spark.ordering.older_gtids import SERVER, older_gtids
from lakehouse.spark.parsing.epochs import HAS_GTID, has_begun, is_known, number_of, without_log
from lakehouse.spark.sql import any_of, in_partition, literal
from lakehouse.spark.transactions.marks import load_marks

_READ = ("gtid", "snapshot", "position")
_IS_READ = f"gtid IS NULL AND snapshot NOT IN ('false', {literal(INCREMENTAL)})"


def find_epoch(
    envelopes: DataFrame,
    lanes: DataFrame,
    fallen: DataFrame,
    history: DataFrame,
    landed: LandedOffsets,
) -> Epoch | None:
    """Find where the first new log of a batch begins.

    Args:
        envelopes: The batch.
        lanes: Its streamed events, from `lanes.in_lanes`.
        fallen: Those of its events that are lower than what came before, and never came before.
        history: The envelopes before the batch; read only when something fell.
        landed: How far bronze goes.
    """
    shows = f"(streams OR increments) AND {HAS_GTID}"
    events = lanes.where(shows).selectExpr("*", SERVER)
    candidates = fallen.where(shows).selectExpr("*", SERVER)
    if candidates.isEmpty():
        return None
    shown = f"(({IS_STREAMED}) OR ({IS_INCREMENT})) AND {HAS_GTID}"
    seen = history.where(shown).select("topic", "partition", "gtid")
    older = seen.distinct().selectExpr(f"{EACH_LANE} AS lane", "gtid", SERVER)
    older = once(older)
    placed = events.selectExpr(IN_EACH_LANE, "gtid", "server")
    firsts = _firsts(placed, candidates, older)
    if not firsts:
        return None
    after = _is_after(firsts, _new_servers(placed, older, firsts, _unbegun(events, history)))
    rows = events.selectExpr(IN_EACH_LANE, "gtid", "streams", f"({after}) AS is_after").drop("at")
    rows = rows.unionByName(
        older.selectExpr("lane", "gtid", "true AS streams", "false AS is_after")
    )
    known = older_gtids(rows, {row["gtid"] for row in firsts})
    marked = events.selectExpr("*", f"({after}) AND NOT {is_known(known, 'gtid')} AS is_of_it")
    starts = _starts(marked, envelopes, landed)
    before = envelopes.where(f"NOT ({has_begun(starts)})")
    return Epoch(starts, known, _reads(before.select(*_READ), history.select(*_READ)))


def _firsts(placed: DataFrame, candidates: DataFrame, older: DataFrame) -> Sequence[Row]:
    """The first event of the new log in each lane that shows one: `lane, at, gtid`.

    An incremental snapshot goes on behind a restart, maybe at a GTID that its lane never had: it
    tells a new log by nothing but a server that none has had.
    """
    placed = placed.unionByName(older.selectExpr("lane", "gtid", "server", "-1L AS at"))
    gtids = placed.groupBy("lane", "gtid").agg(F.min("at").alias("gtid_at"))
    servers = placed.groupBy("lane", "server").agg(F.min("at").alias("server_at"))
    had = older.select("server").distinct().withColumn("had", F.lit(True))
    known = candidates.join(gtids, ["lane", "gtid"], "inner")
    known = known.join(servers, ["lane", "server"], "inner").join(had, "server", "left")
    is_below = "streams AND position < top.position AND (gtid_at = at OR gtid = top.gtid)"
    is_new = "had IS NULL AND server_at = at AND position < greatest(top.position, read)"
    new = known.where(f"({is_below}) OR ({is_new})").groupBy("lane")
    first = [F.min_by(name, "at").alias(name) for name in ("gtid", "server")]
    return new.agg(*first, F.min("at").alias("at")).collect()


def _number(gtid: str) -> int:
    found = re.match(GTID, gtid)
    return int(found[2]) if found else 0


def _unbegun(events: DataFrame, history: DataFrame) -> DataFrame:
    """The servers, as `server`, of transactions of which no BEGIN has landed: they are the newest.

    A connector sends BEGIN before the events, to a topic that has one partition.
    """
    awaiting = events.where("awaits IS NOT NULL").select("awaits", "server").distinct()
    begun = load_marks(history).selectExpr("transaction AS awaits")
    return awaiting.join(begun, "awaits", "left_anti").select("server")


def _new_servers(
    placed: DataFrame, older: DataFrame, firsts: Sequence[Row], unbegun: DataFrame
) -> set[str]:
    """The servers that nothing is of but the new log or a newer one, as far as a lane tells.

    One that comes behind the start in a lane, and never before, has no event in the older logs; nor
    has one of MariaDB that goes on from higher numbers: all servers of a domain number together.
    Where the order of commits shows the start, what is `unbegun` is behind it.
    """
    gtids = ", ".join(literal(row["gtid"]) for row in firsts)
    behind = any_of(f"{_in_lane(row)} AND at > {row['at']}" for row in firsts)
    higher = any_of(
        f"startswith(server, {literal(domain)}) AND {number_of('gtid')} > {_number(row['gtid'])}"
        for row in firsts
        if (domain := _domain(row["server"]))
    )
    began = placed.where(f"gtid IN ({gtids}) OR ({behind}) OR ({higher})").select("server")
    before = placed.where(any_of(f"{_in_lane(row)} AND at < {row['at']}" for row in firsts))
    had = before.select("server").unionByName(older.select("server"))
    if any((row["lane"]["topic"], row["lane"]["partition"]) == SOURCE for row in firsts):
        began = began.unionByName(unbegun)
    return {row["server"] for row in began.distinct().join(had, "server", "left_anti").collect()}


def _domain(server: str) -> str:
    """What the servers of one numbering begin with; empty where each numbers alone."""
    found = re.fullmatch(r"([0-9]+-)[0-9]+", server)
    return found[1] if found else ""


def _in_lane(first: Row) -> str:
    return in_partition((first["lane"]["topic"], first["lane"]["partition"]), "lane")


def _is_after(firsts: Sequence[Row], servers: set[str]) -> str:
    """Whether an event is of the new log, unless its GTID is known.

    Of a transaction that goes on in the new log, what the old one sent did not fall. Where a lane
    does not tell, a server that is new does.
    """
    is_in = any_of(map(_in_lane, firsts))
    behind = any_of(
        f"{_in_lane(row)} AND (at > {row['at']} OR at = {row['at']} AND position < "
        "greatest(top.position, read))"
        for row in firsts
    )
    listed = ", ".join(map(literal, sorted(servers)))
    is_new = f"NOT ({is_in}) AND server IN ({listed})" if servers else "false"
    return f"coalesce(({behind}) OR ({is_new}), false)"


def _starts(
    events: DataFrame, envelopes: DataFrame, landed: LandedOffsets
) -> dict[tuple[str, int], int]:
    """The first offset of the new log in each topic partition, be it behind all that is landed.

    In commit order a read event of an incremental snapshot stands at its GTID's transaction, and
    may be the first of the new log in its topic partition.
    """
    ordered = events.where(f"lane = {SOURCE_LANE}").groupBy("gtid")
    whole = ordered.agg(F.expr("bool_and(is_of_it) AS is_whole")).where("is_whole")
    reads = envelopes.where(f"op = {literal(READ)}").join(whole, "gtid", "left_semi")
    place = ("topic", "partition", "offset")
    first = events.where("is_of_it").select(*place).unionByName(reads.select(*place))
    rows = first.groupBy("topic", "partition").agg(F.min("offset").alias("start")).collect()
    starts = {(row["topic"], row["partition"]): row["start"] for row in rows}
    ends = {
        (topic, number): end
        for topic, entry in landed.topics.items()
        for number, end in entry.next_offsets.items()
    }
    return ends | starts


def _reads(*older: DataFrame) -> tuple[str, ...]:
    """Where source snapshots of the older logs were read, whatever lanes that lag have of them."""
    every = reduce(DataFrame.unionByName, older).where(f"{_IS_READ} AND position IS NOT NULL")
    found = every.selectExpr(f"{without_log('position')} AS position").distinct()
    rows = found.orderBy(F.col("position").desc()).limit(MOST_READS).collect()
    return tuple(sorted(row["position"] for row in rows))
