"""How large a benchmark is: in full, small (`BENCH_SMALL=1`), or as its variable says."""

from __future__ import annotations

import os

SMALL = os.environ.get("BENCH_SMALL", "") not in {"", "0"}


def text(name: str, full: str, small: str | None = None) -> str:
    """The variable `BENCH_<name>`, or what is usual; of a bench without a small form, in full."""
    return os.environ.get(f"BENCH_{name}", small if SMALL and small is not None else full)


def number(name: str, full: int, small: int | None = None) -> int:
    """A variable that is one number."""
    return int(text(name, str(full), None if small is None else str(small)))


def numbers(name: str, full: str, small: str | None = None) -> list[int]:
    """A variable that is numbers with commas between them."""
    return [int(each) for each in text(name, full, small).split(",") if each]
