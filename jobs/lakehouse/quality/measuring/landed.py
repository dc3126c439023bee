"""What landed and was not judged yet, as validation looks at it.

In: the rows of `land` and `validate` in `quality.runs`, and what bronze had before each landing.
Out: the offset ranges of the landings, how many messages they counted, and where one did not begin
where the one before it ended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile

from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.records import RunRow
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange

# The landed offsets of bronze before a snapshot; None where no commit tells them any more.
Before = Callable[[int], LandedOffsets | None]


@dataclass(frozen=True, slots=True)
class LandedRanges:
    """What this try of a run landed, and what runs before it landed that were never validated.

    Attributes:
        ranges: The offset ranges since the newest landing that was judged.
        runs: Whose landings they are.
        since: No message of these landings was landed before.
        messages: Topic partition → messages as landing counted them.
        skipped: Topic partition → offsets between the end of what was landed before and the start
            of a landing, unless a person accepted their loss; only those that could be compared.
        until: Up to which time messages were landed; None for an archive's.
        known: A snapshot of bronze that has none of them; None where all its files are looked at.
        parsed: `topic/partition` → metrics that only parsed messages tell.
    """

    ranges: tuple[OffsetRange, ...]
    runs: tuple[str, ...]
    since: datetime
    messages: Mapping[TopicPartition, int] = field(default_factory=dict)
    skipped: Mapping[TopicPartition, int] = field(default_factory=dict)
    until: datetime | None = None
    known: int | None = None
    parsed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def hours_behind(self, newest: int | None) -> int | None:
        """Full hours between a change, or a message, and the landing.

        Args:
            newest: When it was made, in microseconds since the epoch; None for none.
        """
        if self.until is None or newest is None:
            return None
        return max(0, int(self.until.timestamp()) - newest // 1_000_000) // 3600


def landed_ranges(
    rows: Sequence[RunRow],
    run_id: str,
    run_started: datetime,
    before: Before = lambda _: None,
    parsed: Mapping[str, Mapping[str, int]] | None = None,
) -> LandedRanges:
    """What the landing of this try added, and those before it that no validation has seen.

    A run that was killed, or failed, behind its landing leaves its messages to the next one.

    Args:
        rows: A source's runs, oldest first.
        run_id: The run.
        run_started: When this try of it began.
        before: Tells what bronze had before a snapshot of it.
        parsed: What apply found in the messages.
    """
    landings = [row for row in rows if row.step == "land" and row.status == "succeeded"]
    of_run = [row for row in landings if row.run_id == run_id]
    of_try = [row for row in of_run if _run_started(row) == run_started.isoformat()] or of_run[-1:]
    if not of_try:
        return LandedRanges((), (run_id,), run_started)
    earlier = [row for row in landings if row.ended_at < of_try[0].started_at]
    judged = _judged(rows)
    # A source that was idle for a month has thousands of landings that nobody validated.
    unseen = list(takewhile(lambda row: not _is_seen(row, judged), reversed(earlier)))
    seen = earlier[: len(earlier) - len(unseen)]
    mine = [*(row for row in reversed(unseen) if any(_counted([row]).values())), *of_try]
    start = _landed(seen[-1]) if seen else LandedOffsets()
    return LandedRanges(
        ranges=tuple(_ranges(start, _begun(mine), _landed(of_try[-1]))),
        runs=tuple(dict.fromkeys(row.run_id for row in mine)),
        since=mine[0].started_at,
        messages=_counted(mine),
        skipped=_summed(each for row in mine for each in _skipped(row, before)),
        until=_until(of_try[-1]),
        parsed=parsed or {},
    )


def _judged(rows: Iterable[RunRow]) -> dict[str, datetime]:
    """Run → when its last validation began, which saw all that had landed by then."""
    found: dict[str, datetime] = {}
    for row in rows:
        if row.step == "validate" and row.status == "succeeded":
            found[row.run_id] = max(row.started_at, found.get(row.run_id, row.started_at))
    return found


def _is_seen(landing: RunRow, judged: Mapping[str, datetime]) -> bool:
    began = judged.get(landing.run_id)
    return began is not None and began >= landing.ended_at


def _counted(rows: Iterable[RunRow]) -> dict[TopicPartition, int]:
    """Messages by topic partition, summed over landings."""
    return _summed(
        ((topic, int(number)), count)
        for row in rows
        for topic, partitions in json.loads(row.counts).get("topics", {}).items()
        for number, count in partitions.items()
    )


def _summed(counts: Iterable[tuple[TopicPartition, int]]) -> dict[TopicPartition, int]:
    total: Counter[TopicPartition] = Counter()
    for place, count in counts:
        total[place] += count
    return dict(total)


def _ranges(
    start: LandedOffsets, begun: Mapping[TopicPartition, int], end: LandedOffsets
) -> Iterator[OffsetRange]:
    """From where the landing before ended, or these began: that one may have been taken back."""
    for topic, progress in sorted(end.topics.items()):
        for number, behind in sorted(progress.next_offsets.items()):
            was = _first(start, topic, number, progress.topic_id)
            started = begun.get((topic, number), 0 if was is None else was)
            first = started if was is None else min(was, started)
            if first < behind:
                yield OffsetRange(topic, number, first, behind, progress.topic_id)


def _first(start: LandedOffsets, topic: str, number: int, topic_id: str) -> int | None:
    """Where the landing before ended; None for a topic that is new, or was created again."""
    progress = start.topics.get(topic)
    if progress is None or progress.topic_id != topic_id:
        return None
    return progress.next_offsets.get(number)


def _begun(rows: Iterable[RunRow]) -> dict[TopicPartition, int]:
    """Where the first of some landings began in each topic partition."""
    found: dict[TopicPartition, int] = {}
    for row in rows:
        for topic, number, start in json.loads(row.detail).get("starts", ()):
            found.setdefault((topic, number), start)
    return found


def _skipped(row: RunRow, before: Before) -> Iterator[tuple[TopicPartition, int]]:
    """Offsets that lie between what bronze had and where a landing began."""
    detail = json.loads(row.detail)
    snapshot, accepted = detail.get("snapshot_id"), detail.get("accepted_topics", ())
    known, now = before(snapshot) if snapshot else None, _landed(row)
    for topic, number, start in detail.get("starts", ()) if known else ():
        was = _first(known, topic, number, now.topics[topic].topic_id) if known else None
        if topic not in accepted:
            yield (topic, number), max(0, start - was) if was is not None else 0


def _until(row: RunRow) -> datetime | None:
    detail = json.loads(row.detail)
    if detail.get("archive"):
        return None
    until = detail.get("until")
    return min(row.ended_at, datetime.fromisoformat(until)) if until else row.ended_at


def _landed(row: RunRow) -> LandedOffsets:
    return LandedOffsets.from_json(json.dumps(json.loads(row.detail).get("offsets", {})))


def _run_started(row: RunRow) -> str:
    return str(json.loads(row.detail).get("run_started", ""))
