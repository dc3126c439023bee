"""A fixed sample of many cases: `make test` tries one of each kind, `make soak` all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
# Set by `make soak`.
EVERY_CASE = bool(os.environ.get("LAKEHOUSE_EVERY_CASE"))
# How often one case is tried whose moment is never quite the same.
TIMES = range(20 if EVERY_CASE else 1)


def sample(cases: Iterable[Case], kind: Callable[[Case], str]) -> list[Case]:
    """One case of each kind, not always the first; all where every case is asked for."""
    every = list(cases)
    if EVERY_CASE:
        return every
    kinds: dict[str, list[Case]] = {}
    for case in every:
        kinds.setdefault(kind(case), []).append(case)
    return [some[number % len(some)] for number, some in enumerate(kinds.values())]


def share(some: Sequence[object], every: Sequence[object]) -> str:
    """How many cases were tried, as a figure says it."""
    rest = "" if len(some) == len(every) else "; `make soak` tries all"
    return f"{len(some)} of {len(every)}{rest}"
