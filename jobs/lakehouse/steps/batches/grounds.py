"""What a table's batch builds on: the table as published, or as a rebuild leaves it.

In: the newest cut, the table's properties. Out: a `Ground`, and the cut that it is that of.
"""

from __future__ import annotations

from dataclasses import replace

from lakehouse.plan.batches.tables import STATE_ENDING
from lakehouse.plan.cuts.published import excluded_of, held_of, own_cut
from lakehouse.plan.progress import Progress
from lakehouse.plan.remaking.rebuilding import Ground
from lakehouse.spark.metadata import head
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.properties import Properties
from lakehouse.steps.batches.applying import Applying


def added_to(work: Applying, identifier: str, stored: Properties) -> str:
    """The state of a table that its batch adds columns to, as `lakehouse.added` names it.

    Args:
        work: The open batch.
        identifier: The silver table.
        stored: Its properties.

    Returns:
        Empty where it has no rows, or is rebuilt.
    """
    if work.rebuilt is not None or stored.snapshot is None:
        return ""
    return stored.at(own_cut(work.cut, identifier))


def ground_of(
    work: Applying, progress: Progress, identifier: str, stored: Properties, at: str
) -> Ground:
    """What a table's batch builds on.

    Args:
        work: The open batch.
        progress: That of the newest cut.
        identifier: The silver table.
        stored: Its properties.
        at: From `added_to`.
    """
    if work.rebuilt is not None:
        return work.rebuilt.grounds[identifier]
    own = excluded_of(work.cut).get(identifier)
    ground = Ground(
        columns=silver.stored_columns(work.context.spark, identifier),
        start=Progress.from_json(own.offsets) if own else progress,
        applied=work.cut.position if work.cut and not own else "",
        held=held_of(work.cut).get(identifier, 0),
    )
    return ground if stored.key is None else _as_published(work, ground, identifier, stored, at)


def _as_published(
    work: Applying, ground: Ground, identifier: str, stored: Properties, at: str
) -> Ground:
    """Without what the same batch has made before: it was not published.

    A table and its columns belong to all its branches: they stay when what was staged is lost.
    """
    catalog = work.context.ledger.catalog
    if stored.snapshot is None and head(catalog, identifier + STATE_ENDING) is None:
        return replace(ground, is_empty=True)
    unpublished = stored.added if stored.added_to == at else ()
    kept = {n: kind for n, kind in ground.columns.items() if n.lower() not in unpublished}
    return replace(ground, columns=kept)
