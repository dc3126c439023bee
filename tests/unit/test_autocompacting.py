"""When the files that batches left are merged before the next maintenance, and which of them."""

from __future__ import annotations

import pytest

from lakehouse.plan.upkeep.autocompacting import layout_due
from lakehouse.plan.upkeep.compacting import Figures

MIB = 1024**2


def batch(files: int = 1, size: int = 10_000) -> dict[str, str]:
    return {"added-data-files": str(files), "added-files-size": str(size)}


@pytest.mark.parametrize(
    ("rows", "batches", "needed"),
    [(200_000, 7, False), (200_000, 8, True), (199_999, 23, False), (199_999, 24, True)],
)
def test_small_files_are_merged_once_they_are_many(rows, batches, needed):
    figures = Figures(files=batches + 1, size=12 * MIB, rows=rows)
    layout = layout_due(figures, [batch()] * batches)
    assert (layout is not None) is needed
    assert layout is None or layout.options["min-file-size-bytes"] == str(MIB)


def test_large_files_are_left_as_they_are():
    figures = Figures(files=20, size=1000 * MIB, rows=10_000_000)
    assert layout_due(figures, [batch(8, 8 * 50 * MIB)]) is None
    layout = layout_due(figures, [batch(8, 8 * 49 * MIB)])
    assert layout is not None
    assert layout.options["min-file-size-bytes"] == str(50 * MIB)


def test_commits_without_files_do_not_count():
    figures = Figures(files=20, size=12 * MIB, rows=10_000_000)
    assert layout_due(figures, [{"operation": "append"}, batch(0, 500)] * 20) is None


@pytest.mark.parametrize(
    ("rows", "deleted", "needed"),
    [
        (1_000_000, 99_999, False),
        (1_000_000, 100_000, True),
        (30_000, 19_999, False),
        (30_000, 20_000, True),
    ],
)
def test_files_are_written_again_without_their_dead_rows(rows, deleted, needed):
    layout = layout_due(Figures(1, 1, 12 * MIB, rows, deleted), [])
    assert (layout is not None) is needed
    assert layout is None or layout.options["delete-ratio-threshold"] == "0.1"
    assert layout is None or "min-file-size-bytes" not in layout.options
