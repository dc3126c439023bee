"""The GTIDs of the logs before a new one, as intervals of each server's numbers.

In: the events of all lanes, and whether each comes after the start of the new log. Out: what is of
older logs.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.epochs import MOST_INTERVALS, Gtids, Interval
from lakehouse.spark.parsing.epochs import number_of, server_of
from lakehouse.spark.sql import literal

SERVER = f"{server_of('gtid')} AS server"


def older_gtids(rows: DataFrame, new: set[str]) -> Gtids:
    """The GTIDs of older logs.

    One that comes after the start in one lane, where it never was before, is of the new log, though
    another lane, whose positions did not fall, may have had it already; but what an incremental
    snapshot reads behind a restart may stand at any. What no lane has shown yet, but lies between
    others of an older log, is of it, too: its lane lags.

    Args:
        rows: Events of all lanes, also those before the batch: `lane, gtid, streams, is_after`, the
            last of which says whether it comes after the start in its lane.
        new: The first GTIDs of the new log.
    """
    by_lane = rows.groupBy("lane", "gtid").agg(
        F.expr("bool_or(NOT is_after) AS is_old"),
        F.expr("bool_and(is_after) AND bool_or(streams) AS is_new"),
    )
    listed = ", ".join(map(literal, sorted(new)))
    is_known = f"bool_or(is_old) AND NOT bool_or(is_new) AND gtid NOT IN ({listed})"
    return _intervals(by_lane.groupBy("gtid").agg(F.expr(f"{is_known} AS is_known")))


def _intervals(gtids: DataFrame) -> Gtids:
    """Closed intervals of each server without a GTID of the new log, ascending.

    Numbers below the lowest that is known are of the old log, too. Of more intervals than a bound,
    the gaps between the oldest are closed.
    """
    numbers = gtids.selectExpr(SERVER, f"{number_of('gtid')} AS number", "is_known")
    islands = numbers.selectExpr(
        "*", "count_if(NOT is_known) OVER (PARTITION BY server ORDER BY number) AS island"
    )
    intervals = (
        islands.where("is_known")
        .groupBy("server", "island")
        .agg(F.expr("if(island = 0, 1, min(number)) AS low"), F.max("number").alias("high"))
    )
    newest = "row_number() OVER (PARTITION BY server ORDER BY high DESC)"
    ranked = intervals.selectExpr("*", f"least({newest}, {MOST_INTERVALS}) AS rank")
    merged = ranked.groupBy("server", "rank").agg(
        F.min("low").alias("low"), F.max("high").alias("high")
    )
    found: dict[str, list[Interval]] = {}
    for row in merged.orderBy("server", "low").collect():
        found.setdefault(row["server"], []).append((row["low"], row["high"]))
    return {server: tuple(mine) for server, mine in found.items()}
