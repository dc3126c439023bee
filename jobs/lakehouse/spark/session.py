"""The Spark session of every job: catalog, time zone and the settings that results depend on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings
from lakehouse.config.home import make_private
from lakehouse.plan.catalog import spark_catalog_properties
from lakehouse.plan.tuning import FEW_ROWS, FEW_ROWS_SETTING
from lakehouse.spark.gateway import ask_less
from lakehouse.spark.scratch import hold_scratch

# So few rows are one task's: in one partition they need no exchange.
_ONE_TASK = 20_000
# Of more rows each core has some, and no task too many.
_LEAST_PER_TASK, _ROWS_PER_TASK = 10_000, 100_000
_PARTITIONS, _SPARKS_PARTITIONS = "spark.sql.shuffle.partitions", 200
_INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    # Spark's own fallback where generated code does not compile.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_PLANNED_ONCE = {
    "spark.sql.adaptive.enabled": "false",
    _PARTITIONS: "2",
    # A check of the plan behind each of the optimizer's rules.
    "spark.sql.lightweightPlanChangeValidation": "false",
}
_OF_FEW_ROWS = {**_INTERPRETED, **_PLANNED_ONCE}
# What Spark prints of good runs: the end of a task whose query is forgotten, plans cut short.
# A job that fails raises, whatever is printed.
_QUIET = {
    "org.apache.spark.scheduler.DAGScheduler": "FATAL",
    "org.apache.spark.util.AccumulatorContext": "ERROR",
    "org.apache.spark.util.SparkStringUtils": "ERROR",
}
# The names of settings whose values Spark shows nowhere.
_HIDDEN = "(?i)secret|password|token|access[.]?key|jdbc.user|credential|jaas|keystore[.]key"
_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def spark_session(app_name: str, settings: Settings) -> SparkSession:
    """The session with the catalog `lakehouse`; the master and the jars come from spark-submit.

    Args:
        app_name: Shown in Spark's pages.
        settings: Names the catalog and the warehouse.
    """
    _make_local_folders(settings)
    builder = SparkSession.builder.appName(app_name)
    for key, value in session_properties(settings).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    ask_less(session)
    _keep_quiet(session)
    hold_scratch(session)
    return session


def _keep_quiet(session: SparkSession) -> None:
    gateway: Any = session.sparkContext._jvm  # noqa: SLF001 - as above
    log4j = gateway.org.apache.logging.log4j
    for logger, level in _QUIET.items():
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.valueOf(level))


def tune(session: SparkSession, rows: int) -> None:
    """Make a session fit for queries over so many rows.

    Over few rows Spark does not plan again after each shuffle, and interprets its plans.

    Args:
        session: Is changed; sessions made from it before are not.
        rows: How many rows a query reads at most.
    """
    if are_few(session, rows):
        _set(session, _OF_FEW_ROWS)
    else:
        once = _PLANNED_ONCE if rows <= FEW_ROWS else {}
        _set(session, {**_of_many_rows(session, rows), **once})


def are_few(session: SparkSession, rows: int) -> bool:
    """Whether so many rows are few, over which Spark interprets its plans."""
    return rows <= int(session.conf.get(FEW_ROWS_SETTING, None) or FEW_ROWS)


@contextmanager
def tuned(session: SparkSession, rows: int) -> Iterator[None]:
    """Make a session fit for queries over so many rows, and then what it was before."""
    before = {key: session.conf.get(key, None) for key in _OF_FEW_ROWS}
    tune(session, rows)
    try:
        yield
    finally:
        _set(session, before)


def _set(session: SparkSession, values: Mapping[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, value)


def _of_many_rows(session: SparkSession, rows: int) -> dict[str, str | None]:
    """The settings as the application was started with them, and partitions for so many rows.

    Of a key that is unset Spark has its own default, whatever it was started with.
    """
    values = _as_started(session.sparkContext)
    partitions = int(values[_PARTITIONS] or _SPARKS_PARTITIONS)
    return {**values, _PARTITIONS: str(max(partitions, rows // _ROWS_PER_TASK))}


@lru_cache(maxsize=1)
def _as_started(context: SparkContext) -> Mapping[str, str | None]:
    """What an application was started with: to ask takes some 240 calls of the JVM (measured)."""
    given = context.getConf()
    return {key: given.get(key) for key in _OF_FEW_ROWS}


def in_tasks(frame: DataFrame, rows: int) -> DataFrame:
    """The frame in no more partitions than its rows are worth: of few rows none is exchanged.

    Args:
        frame: Any.
        rows: How many it has at most.
    """
    cores = frame.sparkSession.sparkContext.defaultParallelism
    most = max(cores, rows // _ROWS_PER_TASK)
    return frame.coalesce(1 if is_one_task(rows) else min(most, rows // _LEAST_PER_TASK))


def is_one_task(rows: int) -> bool:
    """Whether so many rows are one task's."""
    return rows <= _ONE_TASK


def session_properties(settings: Settings) -> dict[str, str]:
    """What a session needs whatever master it runs on."""
    return {
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # Column names are told apart by the source, not by Spark, up to their case.
        "spark.sql.caseSensitive": "false",
        # Else a column called `${env:NAME}` is named by what the jobs' environment holds.
        "spark.sql.variable.substitute": "false",
        "spark.sql.iceberg.vectorization.enabled": "true",
        # Else each operator of each column asks the JVM four more times, for the call's place in
        # Python: half the time in which a small batch is planned.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        # What Spark's pages say of a query, which is written whether they are open or not.
        "spark.sql.ui.explainMode": "simple",
        # Of an operator's expressions no more than how many they are.
        "spark.sql.debug.maxToStringFields": "0",
        # A batch of a table has some 150 generated classes (measured); of more than are kept each
        # would be generated, compiled and warmed up again with the next batch.
        "spark.sql.codegen.cache.maxEntries": "2000",
        # The library that Spark takes for upper and lower case makes a table of every character of
        # Unicode first: 2.3 s of CPU and 3 GB of garbage in each application (measured). Java's own
        # makes the same of letters such as ß, ŉ, İ and a last Σ, by the machine's language, too.
        "spark.sql.icu.caseMappings.enabled": "false",
        # Spark's own, and what Kafka and catalogs call otherwise.
        "spark.redaction.regex": _HIDDEN,
        # What a listener takes a second for, Spark logs as it is: a job's start with all settings.
        "spark.scheduler.listenerbus.logSlowEvent": "false",
        **spark_catalog_properties(settings),
    }


def _make_local_folders(settings: Settings) -> None:
    """SQLite and a file warehouse need their folders to exist; reports follow in the home."""
    make_private(settings.home)
    if settings.catalog_uri.startswith("sqlite:///"):
        make_private(Path(settings.catalog_uri.removeprefix("sqlite:///")).parent)
    if urlsplit(settings.warehouse).scheme == "file":
        make_private(Path(urlsplit(settings.warehouse).path))
