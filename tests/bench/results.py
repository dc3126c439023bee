"""What a benchmark measured: a line for a person, and one of JSON where results are kept.

`BENCH_RESULTS` names the file that keeps them; `tests.bench.report` makes a page and plots of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from tests.bench.cpu import Cost


@dataclass(frozen=True)
class Result:
    """One value.

    Attributes:
        workload: As `performance.md` and issue 8 name it.
        case: On what it was measured: sizes and shapes.
        name: Of what: a program, a step, or one beside another.
        value: The median of the rounds.
        unit: What it counts.
        low: The least of the rounds.
        high: The greatest of them.
        target: What it has to be; empty where it is told only.
    """

    workload: str
    case: str
    name: str
    value: float
    unit: str
    low: float
    high: float
    target: str = ""

    def __str__(self) -> str:
        spread = "" if self.low == self.high else f" ({shown(self.low)} to {shown(self.high)})"
        target = f"; {self.target} is asked for" if self.target else ""
        return (
            f"{self.workload}, {self.case}: {self.name} {shown(self.value)} {self.unit}"
            f"{spread}{target}"
        )

    def keep(self) -> None:
        """Write it to the file of results, where one is named."""
        if path := os.environ.get("BENCH_RESULTS"):
            when = datetime.now(UTC).date().isoformat()
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"date": when, **asdict(self)}) + "\n")


def measured(
    place: tuple[str, str], name: str, rounds: Iterable[float], unit: str, target: str = ""
) -> Result:
    """The median of rounds, and their spread.

    Args:
        place: Workload and case.
        name: Of what.
        rounds: The values.
        unit: What they count.
        target: What the median has to be.
    """
    values = tuple(rounds)
    return Result(*place, name, median(values), unit, min(values), max(values), target)


def cpu_ratios(some: Iterable[Cost], others: Iterable[Cost]) -> list[float]:
    """CPU of one program as a multiple of another's, round by round."""
    return [a.cpu / b.cpu for a, b in zip(some, others, strict=True)]


def wall_ratios(some: Iterable[Cost], others: Iterable[Cost]) -> list[float]:
    """Wall time of one program as a multiple of another's, round by round."""
    return [a.wall / b.wall for a, b in zip(some, others, strict=True)]


def shown(value: float) -> str:
    """With three digits that count, or all that are before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@dataclass(frozen=True)
class Kept:
    """A result, and the day it is of."""

    date: str
    result: Result


def load(path: Path) -> list[Kept]:
    """All that are kept, each thing once, in the order of workloads."""
    names = [field.name for field in fields(Result)]
    found: dict[tuple[str, ...], Kept] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result = Result(**{name: row[name] for name in names})
        thing = (result.workload, result.case, result.name, result.unit)
        found[thing] = Kept(row["date"], result)
    return sorted(found.values(), key=lambda kept: kept.result.workload)
