"""Catalogs that make a commit and lose the answer, in Java and in Python.

In: which write, and what the database reports. Out: an error of a commit that is made. The Java
driver is compiled by Janino, which Spark has: no JDK is needed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession
from sqlalchemy.engine import Engine

# What PostgreSQL's driver reports of a connection that broke, what MySQL's does, and anything else
# (`reliability.md` §0.1).
STATES = ("08006", "08007", "08S01", "HY000")
_SOURCES = Path(__file__).parent / "java"


class LostAnswers:
    """SQLite's JDBC driver of this process, which can be told to lose an answer."""

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no public way to it
        if not _is_installed(jvm):
            _install(spark, jvm)
        self._driver = jvm.lost.LosingDriver

    @contextmanager
    def losing(self, nth: int, state: str, *, before: bool = False) -> Iterator[None]:
        """Lose the answer to write N of the catalog, from 1, with an SQLSTATE.

        With `before` the write is not made: the catalog cannot be reached.
        """
        self._driver.arm(nth, before, state)
        try:
            yield
        finally:
            self.left = int(self._driver.left())
            self._driver.arm(0, before, "")

    def kill_at(self, nth: int, *, before: bool) -> None:
        """End this process and its JVM at write N of the catalog, before or after it is made."""
        self._driver.arm(nth, before, f"kill {os.getpid()}")


def _is_installed(jvm: Any) -> bool:
    drivers = jvm.java.util.Collections.list(jvm.java.sql.DriverManager.getDrivers())
    return any(each.getClass().getName() == "lost.LosingDriver" for each in drivers)


def _install(spark: SparkSession, jvm: Any) -> None:
    session_loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    loader = session_loader.loadClass("org.apache.iceberg.jdbc.JdbcCatalog").getClassLoader()
    driver, defining = jvm.org.codehaus.janino.SimpleCompiler(), _compiled(jvm, "Defining.java")
    driver.setParentClassLoader(loader)
    driver.cook((_SOURCES / "LosingDriver.java").read_text(encoding="utf-8"))
    found = defining.getClassLoader().loadClass("lost.Defining")
    define = next(each for each in found.getMethods() if each.getName() == "define")
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as above
    given = gateway.new_array(jvm.java.lang.Object, 2)
    given[0], given[1] = loader, driver.getBytecodes()
    define.invoke(None, given)
    jvm.lost.LosingDriver.install()


def _compiled(jvm: Any, name: str) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.cook((_SOURCES / name).read_text(encoding="utf-8"))
    return compiler


@dataclass
class Commits:
    """The commits of PyIceberg's catalog that this thread asks for.

    Attributes:
        made: How many it asked for.
    """

    made: int = 0


@contextmanager
def losing_commits(catalog: SqlCatalog, *lost: int, before: bool = False) -> Iterator[Commits]:
    """Lose the answers to these commits of PyIceberg's catalog, numbered from 1.

    The connection seems to break behind them; with `before` it breaks before, and they are not
    made. Only this thread's commits count: the heartbeats of a lease are another's, at any time.
    """
    dialect, mine, commits = catalog.engine.dialect, threading.get_ident(), Commits()
    real = dialect.do_commit

    def do_commit(connection: Any) -> None:
        commits.made += threading.get_ident() == mine
        is_lost = threading.get_ident() == mine and commits.made in lost
        if is_lost and before:
            raise _broken(catalog.engine)
        real(connection)
        if is_lost:
            raise _broken(catalog.engine)

    dialect.do_commit = do_commit  # type: ignore[method-assign]
    try:
        yield commits
    finally:
        dialect.do_commit = real  # type: ignore[method-assign]


def _broken(engine: Engine) -> Exception:
    error: Exception = engine.dialect.loaded_dbapi.OperationalError("the answer is lost")
    return error
