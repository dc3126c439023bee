"""Auto compaction: what batches leave in a table is merged before the next maintenance.

In: what the snapshots since the last rewrite added, as their summaries count it. Out: how files are
to be merged, if at all. The cost follows the change: small files are merged with one another, and
large ones are written again only once a good part of their rows is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lakehouse.plan.upkeep.compacting import Figures, Layout

# Each file that is opened costs a scan what some 25,000 narrow rows do: behind 10 batches one of
# 1,000,000 rows takes up to 1.5 times the CPU (measured). Merging has a price of its own, so that
# a table of which a scan is short waits longer.
MANY_FILES, LARGE_ROWS, MANY_FILES_OF_FEW_ROWS = 8, 200_000, 24
# A file is small beside its table, or where a file has one price whatever is in it.
_SMALL_SHARE, _SMALL_BYTES = 20, 1024**2
# Dead rows are read and skipped; where they are few in number nobody notices.
DEAD_SHARE, DEAD_ROWS = 0.1, 20_000


def layout_due(figures: Figures, added: Iterable[Mapping[str, str]]) -> Layout | None:
    """How a table's files are to be merged; None where they are not worth it.

    Args:
        figures: What the table is made of.
        added: The summaries of its snapshots since files were rewritten last
            (https://iceberg.apache.org/spec/#snapshots).
    """
    if figures.deleted >= max(DEAD_ROWS, DEAD_SHARE * figures.rows):
        return Layout(dead_share=DEAD_SHARE)
    smallest = max(_SMALL_BYTES, figures.size // _SMALL_SHARE)
    many = MANY_FILES if figures.rows >= LARGE_ROWS else MANY_FILES_OF_FEW_ROWS
    if sum(_small_files(summary, smallest) for summary in added) >= many:
        return Layout(smallest=smallest)
    return None


def _small_files(summary: Mapping[str, str], smallest: int) -> int:
    """How many data files a snapshot added, where they are small."""
    files, size = (int(summary.get(f"added-{name}") or 0) for name in ("data-files", "files-size"))
    return files if size < files * smallest else 0
