"""Fixtures that every layer of tests shares: a home of its own and one Spark session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.spark.session import spark_session


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests run in several processes, one has the local stack; a file stays together.

    The stack's tests are the longest that belong together: started last, they would end alone.
    """
    stack = Path(__file__).parent / "stack"
    items.sort(key=lambda item: not item.path.is_relative_to(stack))
    for item in items:
        if item.path.is_relative_to(stack):
            item.add_marker(pytest.mark.xdist_group("stack"))
        elif "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of one home for the whole test run: sources keep tests apart."""
    home = tmp_path_factory.mktemp("home")
    return Settings.from_environment({"LAKEHOUSE_HOME": str(home)})


@pytest.fixture(scope="session")
def spark(settings: Settings) -> Iterator[SparkSession]:
    """The one Spark session of a test run."""
    os.environ.update(spark_environment(settings.home))
    session = spark_session("tests", settings)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures() -> Path:
    """The recorded topic archives, which lie beside the repository."""
    given = os.environ.get("LAKEHOUSE_CAPTURES")
    default = Path(__file__).resolve().parents[2] / "shared" / "captures"
    folder = Path(given) if given else default
    if not folder.is_dir():
        pytest.skip(f"no topic archives at {folder}: set LAKEHOUSE_CAPTURES to their folder")
    return folder
