"""What a person should know of columns that were renamed or dropped too late to be told apart.

In: what the source did to a table's columns, what silver has. Out: sentences.
"""

from __future__ import annotations

from collections.abc import Sequence

from lakehouse.plan.remaking.rebuilding import Ground
from lakehouse.plan.schemas.renames import Rename, Renames
from lakehouse.quality.schemas.dropped_columns import Dropped


def column_notes(
    renamed: Sequence[Rename],
    renames: Renames,
    dropped: Dropped,
    ground: Ground,
) -> list[str]:
    """The sentences about one table.

    Args:
        renamed: What the source has renamed.
        renames: Which of them silver follows.
        dropped: What leaves silver.
        ground: What silver has.
    """
    late = [r.was for r in renamed if r.goes and r not in renames.all]
    return [
        *map(_mixed, (*late, *_kept_on(dropped, ground))),
        *map(_missed, renames.missed(ground.columns)),
    ]


def _missed(rename: Rename) -> str:
    return (
        f"column {rename.was!r} was renamed to {rename.name!r}, which was told after rows behind "
        "it had been applied: both stand in silver, with the older values in the first"
    )


def _mixed(name: str) -> str:
    return (
        f"column {name!r} was dropped and added again, which was told after rows behind it "
        "had been applied, or by data events alone: values of both columns stand in one"
    )


def _kept_on(dropped: Dropped, ground: Ground) -> list[str]:
    """Columns that go on as what they were: a batch holds all of what came between."""
    stored = {name.lower() for name in ground.columns}
    behind = {name for name, at in dropped.again.items() if ground.applied and at > ground.applied}
    return sorted(behind & stored)
