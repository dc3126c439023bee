"""The rounds of a comparison: a first look at all rows, then at the keys that differ.

The rules are in `lakehouse.plan.reconciling`. The database is read in one transaction a round,
which ends before anything is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import structlog

from infra.source_rows import reading
from lakehouse.errors import StepFailed
from lakehouse.plan.reconciling.keys import Difference, KeyState, candidates, judge
from lakehouse.plan.reconciling.outcome import Outcome, TableOutcome
from lakehouse.plan.reconciling.reached import LogEnd, has_reached
from lakehouse.plan.reconciling.tables import ComparedTable
from lakehouse.plan.reconciling.wanted import of_keys
from lakehouse.plan.records import CutRow
from lakehouse.reconciling.looks import Look, counted
from lakehouse.reconciling.marker import write_marker
from lakehouse.reconciling.sides import Sides, source_states
from lakehouse.spark.rewriting.reconciling import silver_states

_LOG = structlog.get_logger()
_MOST_ROUNDS = 3
_PAUSE_S = 2.0

States = Mapping[bytes, KeyState]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a comparison waits for a cut.

    Attributes:
        seconds: For one cut at most.
        pause: What is done between two looks.
    """

    seconds: float
    pause: Callable[[], None] = field(default=lambda: time.sleep(_PAUSE_S))


@dataclass(slots=True)
class _Course:
    """One table on its way through the rounds.

    Attributes:
        source: What the source had of the open keys when it was read last.
        changing: Those of the open keys that changed while they were looked at last.
        doubted: In a table without a key, the differences of the round before.
    """

    table: ComparedTable
    outcome: TableOutcome
    open: frozenset[bytes] = frozenset()
    source: States = field(default_factory=dict)
    changing: frozenset[bytes] = frozenset()
    doubted: frozenset[bytes] = frozenset()

    def settled(self) -> TableOutcome:
        """The outcome, with what stayed open and what changed in every round."""
        still = len(self.open - self.changing)
        return replace(self.outcome, open=still, changing=len(self.changing))


def reconcile(sides: Sides, only: Collection[str], patience: Patience) -> Outcome:
    """Compare a source with its silver.

    Args:
        sides: Both of them.
        only: Tables as TOML files write them; none means all.
        patience: How long a cut is awaited.

    Raises:
        StepFailed: No cut is published.
        NotReady: The database gives no answer.
    """
    first = cut = _newest_cut(sides)
    courses, end = _first_look(sides, cut, only)
    for number in range(_MOST_ROUNDS):
        waiting = [course for course in courses if course.open]
        if not waiting:
            break
        for course in waiting:
            course.changing = frozenset()
        if number:
            cut = _newest_cut(sides)
            end = _look_again(sides, waiting)
        behind = _await(sides, end, patience)
        if behind is None:
            break
        for course in waiting:
            _judge(sides, course, cut, behind)
        cut = behind
    tables = tuple(course.settled() for course in courses)
    return Outcome(sides.source.name, first.cut_id, cut.cut_id, end.shown, tables)


def _newest_cut(sides: Sides) -> CutRow:
    cut = sides.ledger.newest_cut(sides.source.name)
    if cut is None:
        raise StepFailed(
            f"Source {sides.source.name!r}: no cut is published: expected one, whose rows are "
            f"compared; do `lakehouse run --source {sides.source.name}` first"
        )
    return cut


def _first_look(sides: Sides, cut: CutRow, only: Collection[str]) -> tuple[list[_Course], LogEnd]:
    """Count and hash both sides, and look at the rows of the buckets that differ.

    Silver is counted first: a long transaction is a burden for the source.
    """
    with reading(sides.database) as state:
        tables = sides.compared(state, cut, only)
    looks = [counted(sides, table, cut) for table in tables]
    with reading(sides.database) as state:
        for look in looks:
            look.read(state)
        end = state.log_end()
    return [_course(sides, look, cut) for look in looks], end


def _course(sides: Sides, look: Look, cut: CutRow) -> _Course:
    table = look.table
    outcome = TableOutcome(table, look.source.rows, look.silver.rows, beyond=look.beyond)
    if look.wanted is None:
        return _Course(table, outcome)
    there = silver_states(sides.at(table, cut), table, look.wanted, marks=False)
    return _Course(table, outcome, candidates(look.states, there), look.states)


def _look_again(sides: Sides, courses: list[_Course]) -> LogEnd:
    """Read what the source has of the open keys by now."""
    with reading(sides.database) as state:
        for course in courses:
            wanted = of_keys(course.open)
            course.source = source_states(state, course.table, wanted)
        return state.log_end()


def _await(sides: Sides, end: LogEnd, patience: Patience) -> CutRow | None:
    """A published cut that reached the end of the log; None where none comes in time."""
    if sides.source.reconcile.marker is not None:
        write_marker(sides.signals, sides.source)
    deadline, told = time.monotonic() + patience.seconds, False
    while True:
        cut = sides.ledger.newest_cut(sides.source.name)
        if cut is not None and has_reached(cut, end):
            return cut
        if not told:
            told = True
            _LOG.info("waiting for a run of ingest", has=end.shown, at_most_s=patience.seconds)
        if time.monotonic() > deadline:
            return None
        patience.pause()


def _judge(sides: Sides, course: _Course, cut: CutRow, behind: CutRow) -> None:
    """What silver has of the open keys in both cuts, and what that makes of them."""
    table, wanted = course.table, of_keys(course.open)
    before = silver_states(sides.at(table, cut), table, wanted)
    there = silver_states(sides.at(table, behind), table, wanted)
    names = tuple(column.name for column in table.columns)
    judged = judge(course.open, course.source, before, there, names)
    found, doubted = judged.found, frozenset[bytes]()
    if not table.key:
        # Its delete marks name no row that can be told here: what came and went in between would
        # look like a difference, but hardly twice.
        doubted = frozenset(d.digest for d in found)
        found = tuple(d for d in found if d.digest in course.doubted)
    course.outcome = replace(course.outcome, found=_merged(course.outcome.found, found))
    course.doubted, course.changing = doubted, judged.open
    course.open = judged.open | (doubted - {d.digest for d in found})


def _merged(*parts: tuple[Difference, ...]) -> tuple[Difference, ...]:
    return tuple(sorted((each for part in parts for each in part), key=lambda each: each.key))
