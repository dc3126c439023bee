"""The catalog as PyIceberg opens it: by many at once, and after a commit that failed."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest
from sqlalchemy.exc import OperationalError

from lakehouse.config import Settings
from lakehouse.spark.opening import open_catalog

OPENERS = 8


def test_whoever_opens_a_new_catalog_at_the_same_time_gets_it(tmp_path):
    for attempt in range(5):
        home = tmp_path / str(attempt)
        home.mkdir()
        settings = Settings.from_environment({"LAKEHOUSE_HOME": str(home)})
        start = Barrier(OPENERS)

        def opened(_: int, settings: Settings = settings, start: Barrier = start) -> list:
            start.wait()
            return open_catalog(settings).list_namespaces()

        with ThreadPoolExecutor(OPENERS) as pool:
            assert list(pool.map(opened, range(OPENERS))) == [[]] * OPENERS


def test_a_commit_that_readers_do_not_let_through_locks_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("lakehouse.plan.catalog.BUSY_TIMEOUT_S", 0.2)
    catalog = open_catalog(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    catalog.create_namespace("before")
    file = tmp_path / "catalog.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM iceberg_tables").fetchall()
        reader.execute("SELECT * FROM iceberg_namespace_properties").fetchall()
        with pytest.raises(OperationalError, match="locked"):
            catalog.create_namespace("refused")
        reader.execute("COMMIT")
        reader.execute("PRAGMA busy_timeout = 200")
        reader.execute("BEGIN IMMEDIATE")
        reader.execute("COMMIT")
    assert catalog.list_namespaces() == [("before",)]
