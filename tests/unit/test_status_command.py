"""What `lakehouse status` prints where nothing runs: what the catalog knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger
from tests.support.quality_story import story

SOURCES = Path(__file__).resolve().parents[2] / "dags" / "sources"


def printed(home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LAKEHOUSE_HOME", str(home))
    monkeypatch.setenv("LAKEHOUSE_SOURCES", str(SOURCES))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("LAKEHOUSE_KAFKA", raising=False)
    done = CliRunner().invoke(app, ["status"])
    assert done.exit_code == 0, done.output
    return done.output


def test_without_kafka_status_says_so_and_shows_the_tables_that_are_published(
    tmp_path, monkeypatch
):
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    told = story("shop")
    told.write(ledger)
    output = printed(tmp_path, monkeypatch)
    assert "Nothing runs; start it with `lakehouse up`" in output
    assert "shop, cut 00000030: all that has landed is published" in output
    assert "Kafka was not read: source 'shop': no Kafka address" in " ".join(output.split())
    [orders] = [line for line in output.splitlines() if line.startswith("shop.orders ")]
    assert orders.split()[:3] == ["shop.orders", "shop__orders", "0"]
    assert "inventory" not in output


def test_to_look_makes_nothing(tmp_path, monkeypatch):
    assert printed(tmp_path, monkeypatch) == "Nothing runs; start it with `lakehouse up`\n"
    assert list(tmp_path.iterdir()) == []
