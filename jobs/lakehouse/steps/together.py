"""Several tables at once, in threads that know which step they belong to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from lakehouse.failpoints import reach

_Value = TypeVar("_Value")
_Result = TypeVar("_Result")
# Each table has few Spark jobs and many small waits.
_WORKERS = 4


def together(act: Callable[[_Value], _Result], values: Iterable[_Value]) -> list[_Result]:
    """What `act` makes of each value, in their order; the first error is raised at the end."""

    def one(value: _Value) -> _Result:
        result = act(value)
        reach("between_tables")
        return result

    with ThreadPoolExecutor(_WORKERS) as pool:
        begun = [pool.submit(copy_context().run, one, value) for value in values]
        return [each.result() for each in begun]
