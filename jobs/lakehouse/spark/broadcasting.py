"""Rows that are sent to every task: those of a small side of a join, through the driver."""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

# What the driver may hold of a batch (`performance.md` §3: one to two million changed rows).
MOST_SENT = 1_000_000


def sent(frame: DataFrame, rows: int) -> DataFrame:
    """A side of a join, sent to every task; of more rows than the driver may hold, exchanged.

    Args:
        frame: Narrow rows, such as keys.
        rows: How many it has at most.
    """
    return F.broadcast(frame) if rows <= MOST_SENT else frame
