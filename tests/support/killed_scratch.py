"""A Spark application whose blocks are on disk, and which may be killed then.

python -m tests.support.killed_scratch HOME end|kill
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.spark.session import spark_session

CANARY = "canary-of-a-shuffle"


def main(home: str, end: str) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": home})
    os.environ.update(spark_environment(settings.home))
    spark = spark_session("scratch", settings)
    rows = spark.range(1000).selectExpr(f"concat('{CANARY}', id % 7) AS word")
    rows.repartition(3, "word").groupBy("word").count().collect()
    if end == "kill":
        java: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to it
        os.kill(java.java.lang.ProcessHandle.current().pid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
