"""What stays of a table in maintenance: the snapshots that somebody may still need.

In: the published cuts of a source and a table's snapshots, branches and tags. Out: which cuts
keep their snapshots, which branches and tags go, which tags are missing, which snapshots expire.
A snapshot is never expired because it is old, only because nothing begins to read it any more:
a table that nobody changed for a week still has readers at its week-old snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lakehouse.config import KeepConfig
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.cuts.published import waiting_cuts
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.rebuilding import REBUILDING, UNDO

# A query, an archive or a step may take so long; what it began with stays so long.
READER_AGE = timedelta(hours=24)
# No rebuild takes so long.
REBUILD_AGE = timedelta(days=7)
_UNDO = re.compile(rf"{UNDO}(\d+)")
_CUT = re.compile(r"cut_(\d+)")
_STAGING = re.compile(r"staging_.*?(\d+)")
_LANDING = "landing_"
MAINTENANCE = "maintenance_"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot of a table.

    Attributes:
        parent: The one before it, which may be gone; None for the first one.
        until: From when on no reader begins with it: when `main` left it, or when it was made
            where `main` never had it. Of the head of `main` it says nothing.
    """

    parent: int | None
    until: datetime


@dataclass(frozen=True, slots=True)
class History:
    """A table's snapshots, and its branches and tags with the snapshot that each names."""

    snapshots: Mapping[int, Snapshot]
    branches: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, int] = field(default_factory=dict)

    def line(self, head: int | None) -> list[int]:
        """A snapshot and those before it, newest first, as far as they are there."""
        found: list[int] = []
        while head is not None and head in self.snapshots:
            found.append(head)
            head = self.snapshots[head].parent
        return found

    @property
    def main(self) -> list[int]:
        """The history of `main`, newest first."""
        return self.line(self.branches.get(MAIN))


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts of a source as maintenance sees them.

    Attributes:
        needed: Snapshot → the cut that it is kept for, the oldest one.
        newest: The snapshots of the newest published cut, and of one that waits.
        published: Highest token of a published cut; 0 for none.
        times: Cut → when it was published.
    """

    needed: Mapping[int, str] = field(default_factory=dict)
    newest: frozenset[int] = frozenset()
    published: int = 0
    times: Mapping[str, datetime] = field(default_factory=dict)


def kept_cuts(published: Mapping[str, datetime], keep: KeepConfig, now: datetime) -> frozenset[str]:
    """The cuts whose snapshots stay readable.

    Args:
        published: Cut id → when it was published; ids are in the order of cuts.
        keep: For how long all of them stay, the last of each hour and that of each day (UTC).
        now: The time.
    """
    order = sorted(published)
    kept = set(order[-keep.last :])
    kept |= {cut for cut in order if now - published[cut] <= keep.all}
    for span, form in ((keep.hourly, "%Y%m%d%H"), (keep.daily, "%Y%m%d")):
        young = [cut for cut in order if now - published[cut] <= span]
        # Of two cuts of one hour the later one stands.
        kept |= set({published[cut].astimezone(UTC).strftime(form): cut for cut in young}.values())
    return frozenset(kept)


def cuts_of(rows: Iterable[CutRow], keep: KeepConfig, now: datetime) -> Cuts:
    """What a source's cuts need: the kept ones, and those that are announced and not published.

    Args:
        rows: All states of all cuts.
        keep: Which published ones stay.
        now: The time.
    """
    order = sorted(rows, key=lambda row: (row.cut_id, row.recorded_at))
    published = {row.cut_id: row for row in order if row.state == "published"}
    times = {row.cut_id: row.recorded_at for row in reversed(order) if row.state == "published"}
    kept = kept_cuts(times, keep, now)
    waiting = waiting_cuts(order)
    standing = [published[cut] for cut in sorted(kept)] + waiting
    needed = {s: row.cut_id for row in reversed(standing) for s in row.tables.values()}
    newest = [published[max(published)]] if published else []
    return Cuts(
        needed,
        frozenset(s for row in (*newest, *waiting) for s in row.tables.values()),
        int(max(published)) if published else 0,
        times,
    )


def dead_branches(history: History, cuts: Cuts, work: int, now: datetime) -> list[str]:
    """The branches that nobody comes back for; those of others stay.

    Args:
        history: The table.
        cuts: Those of its source.
        work: The token of the newest run that may still publish what it staged.
        now: The time.
    """
    return sorted(
        name
        for name, head in history.branches.items()
        if name.startswith(MAINTENANCE)
        or _is_dead_staging(history, name, cuts, work)
        or (name.startswith(_LANDING) and _is_left(history, head, now - READER_AGE))
        or (name.startswith(REBUILDING) and _is_left(history, head, now - REBUILD_AGE))
    )


def _is_dead_staging(history: History, name: str, cuts: Cuts, work: int) -> bool:
    """Whether the rows of a staging branch are published, or can never be."""
    found, head = _STAGING.fullmatch(name), history.branches[name]
    if found is None or (head in cuts.newest and head not in history.main):
        return False
    token = int(found[1])
    return token < work or (token <= cuts.published and head in history.main)


def _is_left(history: History, head: int, since: datetime) -> bool:
    """Whether a branch is older than a time; one at the head of `main` has no age."""
    if head not in history.snapshots or head == history.branches.get(MAIN):
        return False
    return history.snapshots[head].until < since


def living_branches(history: History) -> list[str]:
    """The branches that may come to replace `main`: compaction waits for them.

    Another maintenance's is none while this one has the lease.
    """
    others = set(history.branches) - {MAIN}
    return sorted(name for name in others if not name.startswith(MAINTENANCE))


def old_tags(history: History, cuts: Cuts, undo: timedelta, now: datetime) -> list[str]:
    """The tags of cuts that are not kept and of rebuilds that can no longer be undone."""
    return sorted(
        name
        for name, snapshot in history.tags.items()
        if (_CUT.fullmatch(name) and snapshot not in cuts.needed)
        or _is_past(name, cuts, now - undo)
    )


def _is_past(tag: str, cuts: Cuts, since: datetime) -> bool:
    """Whether a tag names what a rebuild of before a time replaced."""
    found = _UNDO.fullmatch(tag)
    time = cuts.times.get(found[1]) if found else None
    return time is not None and time < since


def missing_tags(history: History, cuts: Cuts) -> dict[str, int]:
    """Tags for snapshots of kept cuts that no tag names, which expiry would take.

    A table that a cut did not change is in it by the snapshot that its `main` had.
    """
    tagged = set(history.tags.values())
    return {
        f"cut_{cut}": snapshot
        for snapshot, cut in cuts.needed.items()
        if snapshot in history.snapshots and snapshot not in tagged
    }


def expired(history: History, cuts: Cuts, anchors: Iterable[int], now: datetime) -> Sequence[int]:
    """The snapshots that nobody needs.

    Args:
        history: The table without the branches and tags that go.
        cuts: Those of its source.
        anchors: Snapshots of `main` that its history must reach, such as the newest one that
            tells the landed offsets.
        now: The time.
    """
    main = history.main
    known = [main.index(each) for each in (*anchors, *cuts.newest) if each in main]
    stay = {*history.branches.values(), *history.tags.values(), *cuts.needed}
    # So far back the commits since say what came between: rewrites, or another program's rows.
    stay |= set(main[: max(known, default=0) + 1])
    for name, head in history.branches.items():
        if name != MAIN:
            stay |= set(history.line(head)) - set(main)
    return tuple(
        sorted(
            number
            for number, snapshot in history.snapshots.items()
            if number not in stay and snapshot.until < now - READER_AGE
        )
    )
