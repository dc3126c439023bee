"""Spark's scratch folders: those of applications that were killed are removed.

In: a session. Out: its own folders, held until its process ends, however it ends; no folder of an
application of ours that is gone. Shuffles and cached rows lie there as they are, be they of rows
that were erased since; Spark removes its folders where it ends, and not where it is killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

# Whoever has the lock on it uses the folder. Folders without it are of others, or are being made.
_OWNER = "lakehouse.owner"
# Closed with the process alone.
_HELD: dict[Path, int] = {}


def hold_scratch(session: SparkSession) -> None:
    """Hold the session's own scratch folders, and remove those beside them that nobody holds.

    Args:
        session: Of the application whose driver this process is.
    """
    own = set(_own(session))
    for folder in own - _HELD.keys():
        # Locked before it has its name: to whoever looks meanwhile it would be nobody's.
        unnamed = folder / f"{_OWNER}.new"
        _HELD[folder] = os.open(unnamed, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(_HELD[folder], fcntl.LOCK_EX)
        unnamed.rename(folder / _OWNER)
    for root in {folder.parent for folder in own}:
        for owner in root.glob(f"*/{_OWNER}"):
            if owner.parent not in _HELD and _is_left(owner):
                shutil.rmtree(owner.parent, ignore_errors=True)


def _own(session: SparkSession) -> Iterator[Path]:
    """Where the driver keeps blocks, and its other files."""
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to it
    spark = java.org.apache.spark
    for folder in spark.SparkEnv.get().blockManager().diskBlockManager().localDirs():
        yield Path(folder.getPath())
    yield Path(spark.util.Utils.getLocalDir(spark.SparkEnv.get().conf()))


def _is_left(owner: Path) -> bool:
    """Whether the process that held a folder is gone."""
    try:
        file = os.open(owner, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True
