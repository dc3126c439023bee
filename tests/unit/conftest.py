"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakehouse.config import Settings
from lakehouse.spark.control.ledger import Ledger


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Control tables of a home of its own, which the commands find by their environment."""
    sources = tmp_path / "sources"
    sources.mkdir()
    toml = 'connector = "postgresql"\ntopic_prefix = "shop"\n'
    (sources / "shop.toml").write_text(toml, encoding="utf-8")
    given = {"LAKEHOUSE_HOME": str(tmp_path / "home"), "LAKEHOUSE_SOURCES": str(sources)}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    for name in ("LAKEHOUSE_CATALOG_URI", "LAKEHOUSE_WAREHOUSE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    return Ledger(Settings.from_environment())
