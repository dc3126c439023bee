"""What the benchmarks have in common."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.bench import sizes
from tests.bench.results import Result


@pytest.fixture(scope="session")
def long_lived() -> bool:
    """A benchmark's session is measured warm; the small form ends before Java is."""
    return not sizes.SMALL


@pytest.fixture
def result(figure: Callable[[str], None]) -> Callable[[Result], None]:
    """Call it with what was measured."""

    def note(each: Result) -> None:
        figure(str(each))
        each.keep()

    return note
