"""Transactions of which a batch has events, and neither BEGIN nor END.

In: the events of a batch that wait for a BEGIN, the marks before the batch. Out: those that need
not wait: what stands before a batch is of transactions that were judged, and after the timeout
nothing waits any longer (`design.md` §3).
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.spark.once import once
from lakehouse.spark.sql import literal
from lakehouse.spark.transactions.arrivals import arrived_since
from lakehouse.spark.transactions.doubts import Earlier
from lakehouse.spark.transactions.marks import MARKED, load_marks
from lakehouse.spark.transactions.states import OVERDUE, SURPLUS

# Their place in commit order: before all that the batch's own BEGINs have.
FIRST = -1


def settled(
    fresh: DataFrame, states: DataFrame, earlier: Earlier, topic: str, deadline_ms: int
) -> DataFrame:
    """The states of those that need not wait, as `judge_transactions` gives them.

    An id may come again, of a database that was restored: a mark counts for events of its time.

    Args:
        fresh: Change events of transactions that are not applied yet.
        states: The transactions with marks in the batch.
        earlier: Reads what came before the batch; no mark counts that is older than the events.
        topic: The transaction metadata topic.
        deadline_ms: What arrived before it waits no longer, in milliseconds since the epoch.
    """
    known = states.select("transaction")
    waiting = fresh.groupBy("transaction").agg(
        F.min("arrived_ms").alias("since"), F.min("source_ts_ms").alias("changed_ms")
    )
    waiting = once(waiting.join(known, "transaction", "left_anti"))
    changed = waiting.agg(F.min("changed_ms").alias("at")).collect()[0]["at"]
    before = earlier([topic], arrived_since(fresh, changed or 0), MARKED)
    marks = load_marks(before).join(F.broadcast(waiting), "transaction", "left_semi")
    judged = marks.groupBy("transaction").agg(F.max("ts_ms").alias("marked_ms"))
    odd = F.when(F.col("marked_ms") >= F.col("changed_ms"), F.lit(SURPLUS)).when(
        F.col("since") < deadline_ms, F.lit(OVERDUE)
    )
    found = waiting.join(judged, "transaction", "left").withColumn("odd", odd)
    return found.where("transaction IS NOT NULL AND odd IS NOT NULL").selectExpr(
        "transaction",
        f"{FIRST}L AS order",
        "odd",
        "true AS whole",
        "false AS short",
        f"odd = {literal(SURPLUS)} AS surplus",
        "false AS unlisted",
        "0L AS marks",
        f"{FIRST}L AS begin",
        "CAST(NULL AS bigint) AS began_ms",
        "CAST(NULL AS bigint) AS first_end",
        "false AS differing",
        "false AS miscounted",
        "false AS is_new",
        "true AS seen",
    )
