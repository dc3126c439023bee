"""A stack of its own for a soak, and the product in the same home."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.stack import running_stack
from lakehouse.config import Settings
from tests.stack.conftest import settings_of


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The stack's home is the product's, as `lakehouse up` makes it."""
    return settings_of(tmp_path_factory.mktemp("soak"))


@pytest.fixture(scope="session")
def stack_settings(settings: Settings) -> Iterator[Settings]:
    """A running stack without Airflow."""
    with running_stack(settings, airflow=False):
        yield settings
