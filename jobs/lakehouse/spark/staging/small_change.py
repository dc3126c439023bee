"""A batch that the driver may hold: one commit to a table's rows, one to its marks, no scan.

In: the winners of a batch and where the rows and marks stand that they replace. Out: a `RowDelta`
of the silver table and one of its state table. What is larger, or more than rows and marks, is
written by `writing` and `state`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from lakehouse.plan.batches.tables import MAIN
from lakehouse.spark.metadata import head, takes_vectors
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver, stored
from lakehouse.spark.staging.row_delta import RowDelta, commit_delta
from lakehouse.spark.staging.state import MARK, is_mark
from lakehouse.spark.staging.tally import counted, room_of
from lakehouse.spark.staging.writing import Work, fills, new_row

# What the driver may hold of a batch (`performance.md` §3).
_MOST_KEYS, _MOST_OCTETS = 50_000, 64_000_000
_HELPERS = "_change", "_mark", "_count"


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


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a batch does to the rows and marks of one table, as the driver got it.

    Attributes:
        changes: What becomes of each key: whether and where rows or marks of it go.
        marks: The mark that it gets, where `changes` says so.
        rows: The row that it gets, as often as `changes` says.
        numbers: As `tally.numbers` counts them, without `octets`; and what was counted beside.
    """

    changes: Sequence[Mapping[str, Any]]
    marks: pa.Table
    rows: pa.Table
    numbers: Mapping[str, int]

    def change(self, work: Work) -> SmallChange:
        """What is to be committed.

        Args:
            work: The table and its branch, with the snapshots that it builds on.
        """
        plan, changes = work.plan, self.changes
        copies = (n for n, each in enumerate(changes) for _ in range(each["copies"]))
        marks = (n for n, each in enumerate(changes) if each["is_mark"])
        gone, unmarked = (_places(changes, of_rows=of_rows) for of_rows in (True, False))
        return SmallChange(
            work,
            _delta(work, plan.silver, gone, self.rows, copies),
            _delta(work, plan.state, unmarked, self.marks, marks),
        )


def is_small(work: Work) -> bool:
    """Whether a batch does so little that the driver may hold it, whatever its keys.

    What silver has is not counted: for a table whose images take nothing from stored ones.

    Args:
        work: The table and its branch, with the snapshots that it builds on.
    """
    rows = work.messages * (2 if work.plan.halves else 1)
    return fits(work, rows, work.octets + room_of(work.plan, rows))


def fits(work: Work, rows: int, octets: int) -> bool:
    """Whether the driver may hold what a batch does, and the table needs nothing else.

    Args:
        work: The table and its branch, with the snapshots that it builds on.
        rows: How many keys it has at most.
        octets: About how much room they take.
    """
    plan = work.plan
    return (
        plan.silver in work.heads
        and stored.has_places(plan)
        and not fills(plan)
        and rows <= _MOST_KEYS
        and octets <= _MOST_OCTETS
        and all(takes_vectors(work.catalog, table) for table in (plan.silver, plan.state))
    )


def fetch(work: Work, folded: DataFrame, tallies: Iterable[str] = ()) -> Fetched:
    """Fetch what a batch does to rows and marks.

    Args:
        work: The table and its branch.
        folded: From `collapse.winners`; where deleted rows stay, from `soft.keep_deleted`.
        tallies: What its winners count beside.
    """
    plan = work.plan
    change, mark, count = (silver.free_name(name, plan.columns) for name in _HELPERS)
    told = {
        "is_row": "standing",
        "places": "if(standing OR marked, places, NULL)",
        "copies": "copies" if plan.is_bag else "int(kept)",
        "is_mark": is_mark(plan),
    }
    found = folded.selectExpr(
        f"{_struct(told)} AS {change}",
        f"struct({', '.join(MARK)}) AS {mark}",
        f"{_struct({**counted(plan), **{name: name for name in tallies}})} AS {count}",
        *new_row(plan),
    ).toArrow()
    counts = _flat(found[count])
    if tallies:
        found = found.filter(pc.equal(counts["keys"], 1))
    return Fetched(
        found[change].to_pylist(),
        _flat(found[mark]),
        found.drop_columns([change, mark, count]),
        {name: pc.sum(counts[name]).as_py() or 0 for name in counts.column_names},
    )


def _struct(fields: Mapping[str, str]) -> str:
    return f"named_struct({', '.join(f'{literal(name)}, {text}' for name, text in fields.items())})"


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
