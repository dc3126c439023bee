"""Plots of W2 and W4: CPU of a batch, by size of the table and by program.

python -m tests.bench.plots RESULTS FOLDER     # lines of JSON
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from tests.bench.results import Result, load

_CASE = re.compile(r"(?P<changes>[\d,]+) changes into (?P<rows>[\d,]+) rows, bigint key")
# Parts of a run, of which `apply` alone does what the other programs do.
_STEPS = frozenset({"land", "check", "validate", "publish"})
# The same picture has the same text.
mpl.rcParams["svg.hashsalt"] = "bench"


def draw(results: Sequence[Result], folder: Path) -> None:
    """Write both plots."""
    found: dict[str, dict[int, float]] = {}
    for result in results:
        case = _CASE.fullmatch(result.case)
        if case and result.unit == "CPU s" and result.name not in _STEPS:
            rows = int(case["rows"].replace(",", ""))
            found.setdefault(result.name, {})[rows] = result.value
    _growth(found, folder / "bench-growth.svg")
    _programs(found, folder / "bench-programs.svg")


def _growth(found: dict[str, dict[int, float]], path: Path) -> None:
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots()
    for name, costs in sorted(found.items()):
        rows = sorted(costs)
        width = 2.5 if name == "apply" else 1.2
        axes.plot(rows, [costs[size] for size in rows], marker="o", linewidth=width, label=name)
    axes.set(xscale="log", yscale="log", xlabel="rows of the table", ylabel="CPU s of a batch")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    _save(figure, path)


def _programs(found: dict[str, dict[int, float]], path: Path) -> None:
    largest = max(size for costs in found.values() for size in costs)
    costs = {name: each[largest] for name, each in found.items() if largest in each}
    names = sorted(costs, key=lambda name: costs[name])
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    colours = ["tab:orange" if name == "apply" else "tab:blue" for name in names]
    bars = axes.barh(names, [costs[name] for name in names], color=colours)
    axes.bar_label(bars, fmt="%.2g", padding=3)
    axes.set(
        xscale="log",
        xlim=(None, 1.5 * max(costs.values())),
        xlabel=f"CPU s of a batch into {largest:,} rows",
    )
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw([kept.result for kept in load(Path(sys.argv[1]))], Path(sys.argv[2]))
