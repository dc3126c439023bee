"""What a query gave, kept for the queries after it: computed once, its plan cut off."""

from __future__ import annotations

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def once(frame: DataFrame, *, eager: bool = False, is_large: bool = False) -> DataFrame:
    """A frame that is computed once, and has no plan that would be looked through again.

    On a cluster each block is on two executors, and Spark makes a second copy of those that an
    executor took with it (`spark.storage.replication.proactive`): without its plan, what is gone
    cannot be computed again, and the application would fail.

    Args:
        frame: What to compute.
        eager: Whether now, and not with the first query that needs it.
        is_large: Whether as rows it would fill memory. Serialized it takes a tenth of the room, and
            queries over it a little more; collections then take less than a tenth of the CPU
            (measured).
    """
    if not str(frame.sparkSession.sparkContext.master).startswith("local"):
        return frame.localCheckpoint(eager, StorageLevel.MEMORY_AND_DISK_2)
    # Of PySpark's levels those of this name are serialized.
    kept = StorageLevel.MEMORY_AND_DISK if is_large else StorageLevel.MEMORY_AND_DISK_DESER
    return frame.localCheckpoint(eager, kept)
