"""Columns that the source changed in rows of which no event came: silver's older rows differ.

In: the marks of the newest cut, and those that a batch brings. Out: the marks of the cut behind the
batch. A table with one *needs a snapshot* (`design.md` §4); a mark goes once no older row is left.
Offsets that were lost before they landed mark whole rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from lakehouse.names import RETIRED
from lakehouse.plan.batches.tables import Place, TablePlan
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange


@dataclass(frozen=True, slots=True)
class Stale:
    """Why a column of older rows may differ from the source, and which rows are older.

    Attributes:
        why: For a person.
        since: Topic, topic partition and offset: a row is older if its newest event stands before
            the one of its topic partition. Rows of others came later.
    """

    why: str
    since: tuple[Place, ...]


# Stands for all columns of a row.
ROWS = ""
# Column → what is known of it.
StaleColumns = Mapping[str, Stale]


def new_marks(plan: TablePlan, end: LandedOffsets) -> dict[str, Stale]:
    """The marks that a table's batch brings.

    Args:
        plan: Says which columns the source changed in silence.
        end: How far the batch goes.
    """
    firsts = {
        name.lower(): version.first
        for version in reversed(plan.versions)
        for name in (column.name for column in version.stored_columns)
    }
    marks = {}
    for name, rewritten in plan.stale.items():
        version = next((v for v in plan.versions if v.fingerprint == rewritten.fingerprint), None)
        first = version.first if version else firsts.get(name.lower(), {})
        marks[name] = Stale(rewritten.why, _since(plan, end, first))
    return marks


def lost_marks(
    lost: Iterable[OffsetRange], topics: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, Stale]]:
    """Silver table → the mark of its rows, of each that may lack events.

    Args:
        lost: The offsets that were lost before they landed.
        topics: Topic → the silver tables of its events.
    """
    found: dict[str, list[OffsetRange]] = {}
    for each in sorted(lost):
        for silver in topics.get(each.topic, ()):
            found.setdefault(silver, []).append(each)
    return {
        silver: {
            ROWS: Stale(
                "; ".join(map(_lost, mine)), tuple((e.topic, e.partition, e.end) for e in mine)
            )
        }
        for silver, mine in found.items()
    }


def both(known: StaleColumns, more: StaleColumns) -> dict[str, Stale]:
    """The marks of a table with more of them, of which none goes for another one of its column."""
    found = {**known, **more}
    for name in known.keys() & more.keys():
        one, other = known[name], more[name]
        # A batch that ends before lost offsets brings their mark, and so does the next one.
        if other.why in one.why:
            found[name] = one
        else:
            found[name] = Stale(f"{one.why}; {other.why}", (*one.since, *other.since))
    return found


def _lost(lost: OffsetRange) -> str:
    return (
        f"offsets [{lost.start}, {lost.end}) of topic {lost.topic!r} partition {lost.partition} "
        "expired before they were landed, and their loss was accepted"
    )


def _since(
    plan: TablePlan, end: LandedOffsets, first: Mapping[tuple[str, int], int]
) -> tuple[Place, ...]:
    """Where rows as the source has them begin; where none has come yet, behind the batch."""
    topics = {topic for topic, _ in plan.places}
    ends = {
        (topic, number): offset
        for topic in topics & end.topics.keys()
        for number, offset in end.topics[topic].next_offsets.items()
    }
    return tuple((*place, offset) for place, offset in sorted({**ends, **first}.items()))


def followed(marks: StaleColumns, plan: TablePlan) -> dict[str, Stale]:
    """The marks under the names that the table's columns have behind the batch."""
    names = {rename.was: rename.name for rename in plan.renames}
    found = {names.get(name, name): mark for name, mark in marks.items()}
    return {name: mark for name, mark in found.items() if name not in plan.dropped}


def told(marks: StaleColumns) -> str:
    """The columns and what is known of each, for a person."""
    named = ((f"column {name!r}" if name else "its rows", mark) for name, mark in marks.items())
    return "; ".join(f"{name}: {mark.why}" for name, mark in sorted(named))


def stale_of(cut: CutRow | None) -> dict[str, dict[str, Stale]]:
    """Silver table → its marked columns; those with some."""
    return parsed(json.loads(cut.stale)) if cut and cut.stale else {}


def parsed(tables: Mapping[str, Mapping[str, Mapping[str, object]]]) -> dict[str, dict[str, Stale]]:
    """What JSON has of marked columns, by silver table."""
    return {
        table: {name: _mark(mark) for name, mark in columns.items()}
        for table, columns in tables.items()
    }


def _mark(mark: Mapping[str, object]) -> Stale:
    since = mark["since"]
    places = since if isinstance(since, list) else []
    return Stale(str(mark["why"]), tuple((str(t), int(n), int(o)) for t, n, o in places))


def stale_after(
    base: CutRow | None,
    looked_at: Mapping[str, StaleColumns],
    published: Iterable[str],
    moved: Mapping[str, str],
) -> str:
    """The marks of a cut as JSON; empty for none.

    Args:
        base: The cut before it.
        looked_at: Silver table → its marks behind the batch.
        published: The silver tables that the cut does not leave behind.
        moved: Old → new name of the tables that it moves. What is retired is not read again.
    """
    known: dict[str, StaleColumns] = dict(stale_of(base))
    known |= {name: looked_at[name] for name in published if name in looked_at}
    found = {
        moved.get(name, name): {column: asdict(mark) for column, mark in marks.items()}
        for name, marks in known.items()
        if marks and not RETIRED.search(moved.get(name, name))
    }
    return json.dumps(found, sort_keys=True) if found else ""
