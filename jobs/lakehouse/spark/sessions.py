"""Sessions of one application that are used again: each new one opens the catalog anew.

Settings and temporary views are a session's own, so that tables staged at one moment need one each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from pyspark.sql import SparkSession


class Sessions:
    """As many sessions as are in use at one moment."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._free = SimpleQueue[SparkSession]()

    @contextmanager
    def one(self) -> Iterator[SparkSession]:
        """A session that nobody else has meanwhile, with settings and views of whoever had it."""
        try:
            session = self._free.get_nowait()
        except Empty:
            session = self._spark.newSession()
        try:
            yield session
        finally:
            self._free.put(session)
