"""Fixtures of the set-up's tests: a cache folder of their own."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder that the set-up uses."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("LAKEHOUSE_CACHE", str(folder))
    return folder
