"""Tests with a Spark session."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the socket of each `collect` to the garbage collector, in any later test."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")
