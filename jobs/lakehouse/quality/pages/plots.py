"""Plots as shapes with coordinates: the template turns them into SVG, and needs no script.

In: numbers by run. Out: charts of bars, lines and strips of cells, each with a sentence for those
who do not see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 120
_BOTTOM = 18
_LEFT = 34
# A failure among thousands stays visible.
_LEAST = 3.0
_GAP = 0.2


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; `title` says its number."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars over an axis, one place for each run.

    Attributes:
        top: The highest value, beside the axis.
        first: What stands below the first bar.
        last: What stands below the last one.
        summary: The plot in words.
    """

    title: str
    bars: tuple[Bar, ...]
    top: str
    first: str
    last: str
    summary: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A square of a strip; `tone` is a verdict, or empty for a run that says nothing."""

    tone: str
    title: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line without axes, in a box of 100 by 24; `points` is empty for fewer than two values."""

    points: str
    summary: str


@dataclass(frozen=True, slots=True)
class Stack:
    """One place of a chart: what stands on it from the bottom up, by tone."""

    label: str
    values: Mapping[str, float]
    title: str


def chart(title: str, stacks: Sequence[Stack], unit: str) -> Chart:
    """Bars of one or more tones for each run, oldest first."""
    totals = [sum(stack.values.values()) for stack in stacks]
    top = max(totals, default=0)
    step = (WIDTH - _LEFT) / max(len(stacks), 1)
    bars = [
        bar
        for index, stack in enumerate(stacks)
        for bar in _stacked(stack, _LEFT + index * step, step, top)
    ]
    return Chart(
        title=title,
        bars=tuple(bars),
        top=short_number(top),
        first=stacks[0].label if stacks else "",
        last=stacks[-1].label if len(stacks) > 1 else "",
        summary=_summary(title, totals, unit),
    )


def line(values: Sequence[int | None], what: str) -> Line:
    """A line through the values that are known, over all of their places."""
    known = [(index, value) for index, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return Line("", f"{what}: {known[0][1]:,}" if known else f"{what}: unknown")
    low, high = min(value for _, value in known), max(value for _, value in known)
    across, up = 96 / (len(values) - 1), 18 / ((high - low) or 1)
    points = (f"{2 + index * across:.1f},{21 - (value - low) * up:.1f}" for index, value in known)
    first, last = known[0][1], known[-1][1]
    summary = f"{what}: {first:,} to {last:,}, lowest {low:,}, highest {high:,}"
    return Line(" ".join(points), summary)


def short_number(value: float) -> str:
    """A number that fits beside an axis."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= size:
            return f"{value / min(size, 1e3 if letter == 'k' else size):.3g}{letter}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _stacked(stack: Stack, x: float, step: float, top: float) -> list[Bar]:
    room = HEIGHT - _BOTTOM - 8
    width = min(step * (1 - _GAP), 24)
    left, wide = round(x + (step - width) / 2, 1), round(width, 1)
    bars: list[Bar] = []
    bottom = float(HEIGHT - _BOTTOM)
    for tone, value in stack.values.items():
        if not value:
            continue
        height = max(value / top * room, _LEAST)
        bottom -= height
        bars.append(Bar(left, round(bottom, 1), wide, round(height, 1), tone, stack.title))
    return bars


def _summary(title: str, totals: Sequence[float], unit: str) -> str:
    if not totals:
        return f"{title}: no run yet"
    return (
        f"{title} of {len(totals)} runs, in {unit}: lowest {min(totals):,.10g}, "
        f"highest {max(totals):,.10g}, newest {totals[-1]:,.10g}; the table of runs has the numbers"
    )
