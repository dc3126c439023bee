"""Fixtures that every layer of tests shares: a home of its own and one Spark session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from pyspark.sql import SparkSession
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.spark.session import spark_session, tune

# A busy machine draws slowly, and its garbage collector pauses: neither says a thing of the code.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

_TESTS = Path(__file__).parent
# What takes longest comes first: started last, it would end alone.
_ORDER = ("stack", "property", "spark", "kafka", "dags")
# Folders whose tests share a stack and stay together; Airflow's and the others are two stacks.
_TOGETHER = ("tests/stack/with_airflow/", "tests/stack/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The stack's tests come first, those that need no server last."""
    items.sort(key=lambda item: _rank(item.path.relative_to(_TESTS)))


def _rank(file: Path) -> tuple[int, bool]:
    """Airflow's tests begin the stack's: what they ingest grows with every other test's rows."""
    folder = file.parts[0]
    place = _ORDER.index(folder) if folder in _ORDER else len(_ORDER)
    return place, "with_airflow" not in file.parts


class _Units(LoadScopeScheduling):
    """A file's tests stay in one process with their fixtures, a stack's are one unit."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((folder for folder in _TOGETHER if file.startswith(folder)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Units:
    """How tests are given to processes, where there are several."""
    return _Units(config, log)


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings of one home for the whole test run: sources keep tests apart."""
    home = tmp_path_factory.mktemp("home")
    return Settings.from_environment({"LAKEHOUSE_HOME": str(home)})


@pytest.fixture(scope="session")
def long_lived() -> bool:
    """Whether the session works for so long, alone, that a second compiler pays.

    Of four sessions on two cores each spends 40 % of its time in that (measured).
    """
    return False


@pytest.fixture(scope="session")
def spark(settings: Settings, *, long_lived: bool) -> Iterator[SparkSession]:
    """The one Spark session of a test run."""
    os.environ.update(spark_environment(settings.home, long_lived=long_lived))
    session = spark_session("tests", settings)
    tune(session, 0)  # What tests look at is small, as are the batches that they apply.
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
