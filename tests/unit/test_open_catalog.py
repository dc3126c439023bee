"""The catalog as PyIceberg opens it: by many at once, after a commit that failed, and again."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pyarrow as pa
import pytest
from pyiceberg.exceptions import NoSuchTableError
from sqlalchemy.exc import OperationalError

from lakehouse.config import Settings
from lakehouse.spark.opening import load_table, open_catalog

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


def test_metadata_are_read_once_and_a_commit_of_others_is_seen(tmp_path: Path):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    mine, other = open_catalog(settings), open_catalog(settings)
    mine.create_namespace("shop")
    rows = pa.table({"id": [1, 2]})
    mine.create_table("shop.orders", rows.schema)
    first = load_table(mine, "shop.orders")
    Path(first.metadata_location.removeprefix("file://")).rename(tmp_path / "away")
    assert load_table(mine, "shop.orders").metadata == first.metadata
    (tmp_path / "away").rename(first.metadata_location.removeprefix("file://"))
    load_table(other, "shop.orders").append(rows)
    seen = load_table(mine, "shop.orders")
    assert (first.current_snapshot(), seen.scan().to_arrow()) == (None, rows)
    seen.append(rows)
    assert load_table(mine, "shop.orders").scan().count() == 4
    other.drop_table("shop.orders")
    with pytest.raises(NoSuchTableError):
        load_table(mine, "shop.orders")
