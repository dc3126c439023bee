"""A cut that goes no further than the newest one, with other rows: repairs, rebuilds, erasures."""

from __future__ import annotations

from collections.abc import Iterable

from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import excluded_of, identities_of
from lakehouse.plan.records import CutRow


def cut_upon(
    newest: CutRow,
    branch: str,
    token: int,
    tables: Iterable[StagedTable],
    findings: Iterable[str] = (),
) -> StagedCut:
    """The staged cut of the same offsets.

    Args:
        newest: The newest published cut.
        branch: The staging branch of the tables.
        token: Fencing token under which they are staged.
        tables: Those that get other rows.
        findings: What a person should know.
    """
    return StagedCut(
        branch=branch,
        token=token,
        cut_id=f"{token:08d}",
        base_cut=newest.cut_id,
        offsets=newest.offsets,
        position=newest.position,
        transactions=0,
        tables=tuple(tables),
        excluded=excluded_of(newest),
        findings=tuple(findings),
        identities=identities_of(newest),
        epochs=newest.epochs,
    )
