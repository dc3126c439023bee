"""What the benchmarks have in common."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def long_lived() -> bool:
    """A benchmark's session is measured warm."""
    return True
