"""A new catalog that many open at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from lakehouse.config import Settings
from lakehouse.spark.ledger import open_catalog

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
