"""A batch that the driver may hold: one commit to a table's rows, one to its marks, no scan.

In: the winners of a batch and where the rows and marks stand that they replace. Out: a `RowDelta`
of the silver table and one of its state table. What is larger, or more than rows and marks, is
written by `writing` and `state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from lakehouse.plan.tables import MAIN
from lakehouse.spark import silver, stored
from lakehouse.spark.metadata import head, takes_vectors
from lakehouse.spark.row_delta import RowDelta, commit_delta
from lakehouse.spark.sql import literal
from lakehouse.spark.state import MARK, is_mark
from lakehouse.spark.writing import Work, fills, new_row

# What the driver may hold of a batch (`performance.md` §3).
_MOST_KEYS, _MOST_OCTETS = 50_000, 64_000_000
_CHANGE, _MARK = "_change", "_mark"


def with_heads(work: Work) -> Work:
    """The work, with the snapshots that it builds on; to be asked for before any row is read."""
    plan = work.plan
    tables = (plan.silver, plan.state) if plan.exists and plan.base == MAIN else ()
    found = ((name, head(work.catalog, name)) for name in tables)
    return replace(work, heads={name: each.snapshot_id for name, each in found if each})


@dataclass(frozen=True, slots=True)
class SmallChange:
    """What a batch does to one table, held by the driver."""

    work: Work
    rows: RowDelta
    marks: RowDelta

    def write_rows(self) -> bool:
        """Change the silver table; False, with nothing done, where that takes a scan."""
        return self._commit(self.work.plan.silver, self.rows)

    def write_marks(self) -> bool:
        """Change the state table; False, with nothing done, where that takes a scan."""
        return self._commit(self.work.plan.state, self.marks)

    def _commit(self, table: str, delta: RowDelta) -> bool:
        work = self.work
        if not (delta.places or delta.rows.num_rows):
            return False
        return commit_delta(work.spark, work.catalog, table, work.branch, delta, work.summary)


def small_change(work: Work, folded: DataFrame, numbers: Mapping[str, int]) -> SmallChange | None:
    """Fetch what a batch does to rows and marks.

    Args:
        work: The table and its branch, with the snapshots that it builds on.
        folded: From `collapse.winners`; where deleted rows stay, from `soft.keep_deleted`.
        numbers: From `tally.numbers`.

    Returns:
        None where it is more than the driver may hold, or the table needs more than that.
    """
    if not _is_small(work, numbers):
        return None
    plan = work.plan
    change, mark = (silver.free_name(name, plan.columns) for name in (_CHANGE, _MARK))
    told = {
        "is_row": "standing",
        "places": "if(standing OR marked, places, NULL)",
        "copies": "copies" if plan.is_bag else "int(kept)",
        "is_mark": is_mark(plan),
    }
    named = ", ".join(f"{literal(name)}, {value}" for name, value in told.items())
    found = folded.selectExpr(
        f"named_struct({named}) AS {change}", f"struct({', '.join(MARK)}) AS {mark}", *new_row(plan)
    ).toArrow()
    changes = found[change].to_pylist()
    copies = (n for n, each in enumerate(changes) for _ in range(each["copies"]))
    marks = (n for n, each in enumerate(changes) if each["is_mark"])
    rows, gone = found.drop_columns([change, mark]), _places(changes, of_rows=True)
    return SmallChange(
        work,
        _delta(work, plan.silver, gone, rows, copies),
        _delta(work, plan.state, _places(changes, of_rows=False), _flat(found[mark]), marks),
    )


def _is_small(work: Work, numbers: Mapping[str, int]) -> bool:
    plan = work.plan
    return (
        plan.silver in work.heads
        and stored.has_places(plan)
        and not fills(plan)
        and numbers["keys"] <= _MOST_KEYS
        and numbers["octets"] <= _MOST_OCTETS
        and all(takes_vectors(work.catalog, table) for table in (plan.silver, plan.state))
    )


def _delta(
    work: Work, table: str, places: Mapping[str, list[int]], rows: pa.Table, kept: Iterable[int]
) -> RowDelta:
    return RowDelta(work.heads.get(table), places, rows.take(pa.array(kept, pa.int64())))


def _places(changes: Iterable[Mapping[str, Any]], *, of_rows: bool) -> dict[str, list[int]]:
    """Data file → positions that go, of the silver table or of its state table."""
    gone: dict[str, list[int]] = {}
    for change in changes:
        for place in (change["places"] or ()) if change["is_row"] == of_rows else ():
            gone.setdefault(place["file"], []).append(place["pos"])
    return gone


def _flat(structs: pa.ChunkedArray) -> pa.Table:
    """A column of structs as a table."""
    names = [field.name for field in structs.type]
    return pa.Table.from_arrays(structs.combine_chunks().flatten(), names)
