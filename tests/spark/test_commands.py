"""Steps as commands, one Spark application after the other, with no server anywhere.

In: a topic archive. Out: published silver, and the same topics written from bronze again.
"""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from infra.spark import spark_environment
from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from tests.support.archives import read_archive
from tests.support.commands import lakehouse
from tests.support.debezium import Postgres, Table, column
from tests.support.sampling import EVERY_CASE

NAME = "commanded"


def history() -> Postgres:
    connector = Postgres(NAME)
    table = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
    connector.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    connector.transact(
        (table, "u", None, {"id": 2, "name": "c"}), (table, "d", {"id": 1, "name": "a"}, None)
    )
    return connector


def is_private(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_that_spark_s_settings_are_the_first_of_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    spark_environment(tmp_path / "home")
    assert is_private(tmp_path / "home")


def test_the_commands_work_with_no_server(tmp_path: Path):
    sources = tmp_path / "sources"
    sources.mkdir()
    text = f'connector = "postgresql"\ntopic_prefix = "{NAME}"\n'
    (sources / f"{NAME}.toml").write_text(text)
    topics, again = history().archive(tmp_path / "topics"), tmp_path / "again"
    settings = Settings.from_environment(
        {"LAKEHOUSE_HOME": str(tmp_path / "home"), "LAKEHOUSE_SOURCES": str(sources)}
    )
    archive = ("--archive", str(topics))
    steps = [("land", *archive), ("check",), ("apply",), ("validate",), ("publish",)]
    for command, *arguments in steps if EVERY_CASE else [("run", *archive)]:
        lakehouse(settings, command, "--source", NAME, *arguments)
    assert is_private(settings.home)
    catalog = Ledger(settings).catalog
    rows = catalog.load_table(f"silver_{NAME}.public__orders").scan().to_arrow().to_pylist()
    assert [(row["id"], row["name"]) for row in rows] == [(2, "c")]
    if EVERY_CASE:
        interval = ("--from", "2023-11-14T00:00:00Z", "--until", "2023-11-15T00:00:00Z")
        again_derived = lakehouse(settings, "run", "--source", NAME, *archive, *interval)
        derived = next(line for line in again_derived.splitlines() if "derived again" in line)
        assert derived.startswith("apply: succeeded: 1 rows of 1 tables derived again up to cut ")
        assert derived.endswith(": none differ")
    if EVERY_CASE:
        erase = ("erase", "--source", NAME, "--table", "public.orders", "--key", '{"id": 1}')
        erased = lakehouse(settings, *erase, "--by", "ann")
        said = "public.orders: 1 keys erased by ann: 3 messages in bronze keep nothing but their "
        assert said + "place" in erased
        assert catalog.load_table(f"silver_{NAME}.public__orders").scan().to_arrow().num_rows == 1
        lakehouse(settings, "archive", str(again), "--from", "bronze", "--source", NAME)
        assert read_archive(again) == read_archive(topics)
        said = lakehouse(settings, "maintain")
        assert "0 files removed from the store" in said
        assert any(line.startswith(f"silver_{NAME}.public__orders ") for line in said.splitlines())
