"""Which compilers Java gets for what a run has to parse."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakehouse.cli._recorded import messages_of
from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.errors import ArchiveError
from lakehouse.plan.records import RUNS, RunRow
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.plan.submission import Run
from lakehouse.plan.tuning import archived_messages, expected_messages, with_both_compilers
from lakehouse.spark.control.ledger import Ledger

NOW = datetime(2026, 11, 29, tzinfo=UTC)
ONE = {"SPARK_SUBMIT_OPTS": "-Xss2m -XX:TieredStopAtLevel=1"}
BOTH = {"SPARK_SUBMIT_OPTS": "-Xss2m"}


def landing(messages: int, at: int = 0, status: str = "succeeded") -> RunRow:
    when = NOW + timedelta(minutes=at)
    counts = json.dumps({"messages": messages, "topics": {}})
    return RunRow("shop", f"run_{at}", 1, "land", status, when, when, "", "", "", counts, "{}", "")


def test_nothing_is_known_before_the_first_landing() -> None:
    assert expected_messages([]) is None


def test_the_next_run_is_like_the_larger_of_those_before_it() -> None:
    assert expected_messages(['{"messages": 70}', '{"messages": 0}']) == 70


def test_an_archive_tells_by_its_size() -> None:
    files = {Path("a.jsonl"): 6_000_000, Path("b.jsonl.gz"): 6_000_000}
    assert archived_messages(files) == 110_000


@pytest.mark.parametrize(
    ("messages", "expected"), [(0, {}), (99_999, {}), (100_000, BOTH), (None, BOTH)]
)
def test_both_compilers_are_for_many_messages(
    messages: int | None, expected: dict[str, str]
) -> None:
    assert with_both_compilers(ONE, messages) == expected


def test_java_is_left_alone_where_it_has_both() -> None:
    assert with_both_compilers({}, None) == {}
    assert with_both_compilers(BOTH, None) == {}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path / "home")})


@pytest.fixture
def shop() -> SourceConfig:
    return parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")


def test_a_command_asks_the_runs_before_it(settings: Settings, shop: SourceConfig) -> None:
    assert messages_of(settings, shop, Run()) is None
    settings.home.mkdir()
    failed = landing(5_000_000, at=4, status="failed")
    rows = [landing(9_000_000), landing(70, at=1), landing(80, at=2), landing(0, at=3), failed]
    Ledger(settings).append(RUNS, rows)
    assert messages_of(settings, shop, Run()) == 80
    assert messages_of(settings, shop, Run(rebuild=Rebuild((), undo=False))) is None


def test_a_command_asks_its_archive(settings: Settings, shop: SourceConfig, tmp_path: Path) -> None:
    (tmp_path / "shop.public.orders.jsonl").write_bytes(b" " * 60_000)
    assert messages_of(settings, shop, Run(archive=tmp_path)) == 100


def test_an_archive_that_is_none_is_refused_before_spark_starts(
    settings: Settings, shop: SourceConfig, tmp_path: Path
) -> None:
    with pytest.raises(ArchiveError, match="no such folder: expected one with <topic>"):
        messages_of(settings, shop, Run(archive=tmp_path / "missing"))
    with pytest.raises(ArchiveError, match="no topic: expected files named"):
        messages_of(settings, shop, Run(archive=tmp_path))


def test_a_catalog_that_cannot_be_read_is_the_application_s_to_tell(
    settings: Settings, shop: SourceConfig
) -> None:
    settings.home.mkdir()
    file = Path(settings.catalog_uri.removeprefix("sqlite:///"))
    file.write_bytes(b"no database" * 100)
    assert messages_of(settings, shop, Run()) is None
