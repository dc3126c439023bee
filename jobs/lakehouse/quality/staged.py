"""What a run staged and landed, as validation looks at it.

In: the staged cut of `apply`, the cut before it, the rows of `land` in `quality.runs`. Out: for
each changed table where its batch starts and ends, and the offset ranges of the landing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.config.rules import OwnRule
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity, topic_of
from lakehouse.plan.handover import Excluded, StagedCut, StagedTable, excluded_of
from lakehouse.plan.offsets import LandedOffsets, OffsetRange
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.quality.column_facts import NO_FACTS, ColumnFacts

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Target:
    """One changed silver table and its batch.

    Attributes:
        start: Topic partition → first offset of the batch.
        end: Topic partition → first offset that the table does not hold.
        is_new: True when no published cut holds the table: every row is a changed row.
        facts: What its schema versions say.
        rules: What the TOML file, or a file that it names, expects of its rows.
    """

    table: StagedTable
    branch: str
    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    is_new: bool
    facts: ColumnFacts = NO_FACTS
    rules: tuple[OwnRule, ...] = ()

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """Column in lower case → the least and the greatest number of its type in the source."""
        return self.facts.ranges

    @property
    def silver(self) -> str:
        """Namespace and name."""
        return self.table.silver


@dataclass(frozen=True, slots=True)
class LandedRanges:
    """What this try of a run landed.

    Attributes:
        ranges: The offset ranges since the landing before it.
        since: No message of this try was landed before.
        messages: Topic partition → messages as landing counted them.
    """

    ranges: tuple[OffsetRange, ...]
    run_id: str
    since: datetime
    messages: Mapping[TopicPartition, int] = field(default_factory=dict)


def staged_cut(row: RunRow) -> StagedCut:
    """The cut that a row of `apply` hands over.

    Raises:
        StepFailed: The step staged nothing that could be validated.
    """
    if row.status != "succeeded":
        raise StepFailed(
            f"Run {row.run_id!r}: apply {row.status}: expected succeeded; nothing is validated. "
            f"Apply said: {row.message}"
        )
    cut = StagedCut.from_detail(row.detail)
    if cut is None:
        raise StepFailed(
            f"Run {row.run_id!r}: apply staged no cut: expected one in its detail; run apply again"
        )
    return cut


def targets(
    source: SourceConfig,
    cut: StagedCut,
    base: CutRow | None,
    facts: Mapping[tuple[str, ...], ColumnFacts] | None = None,
) -> tuple[Target, ...]:
    """The changed tables of a staged cut.

    Args:
        source: The source.
        cut: The staged cut.
        base: The published cut that it follows; None for the first one.
        facts: Parts of a source table's name → what its schema versions say.
    """
    published = set(base.tables) if base else set()
    before = base.offsets if base else ""
    left_before = excluded_of(base)
    return tuple(
        Target(
            table=table,
            branch=cut.branch,
            start={**dict.fromkeys(end, 0), **_of_table(before, left_before, table, end)},
            end=end,
            is_new=table.silver not in published,
            facts=(facts or {}).get(identity.parts(source.connector), NO_FACTS),
            rules=source.table_options(identity).rules,
        )
        for table in cut.tables
        if table.changed
        for identity, end in [(TableIdentity.of(table.identity), _end(source, cut, table))]
    )


def landed_ranges(rows: Sequence[RunRow], run_id: str, run_started: datetime) -> LandedRanges:
    """What the landing of this try added, from a source's runs, oldest first."""
    landings = [row for row in rows if row.step == "land" and row.status == "succeeded"]
    of_run = [row for row in landings if row.run_id == run_id]
    of_try = [row for row in of_run if _run_started(row) == run_started.isoformat()] or of_run[-1:]
    if not of_try:
        return LandedRanges((), run_id, run_started)
    before = [row for row in landings if row.ended_at < of_try[0].started_at]
    start = _landed(before[-1]) if before else LandedOffsets()
    end = _landed(of_try[-1])
    ranges = tuple(
        OffsetRange(topic, number, first, behind, progress.topic_id)
        for topic, progress in sorted(end.topics.items())
        for number, behind in sorted(progress.next_offsets.items())
        if (first := _first(start, topic, number, progress.topic_id)) < behind
    )
    return LandedRanges(ranges, run_id, of_try[0].started_at, _counted(of_try))


def _end(source: SourceConfig, cut: StagedCut, table: StagedTable) -> dict[TopicPartition, int]:
    ends = _of_table(cut.offsets, cut.excluded, table, None)
    topics = _topics(source, TableIdentity.of(table.identity), {topic for topic, _ in ends})
    return {place: offset for place, offset in ends.items() if place[0] in topics}


def _of_table(
    offsets: str,
    left: Mapping[str, Excluded],
    table: StagedTable,
    wanted: Collection[TopicPartition] | None,
) -> dict[TopicPartition, int]:
    """How far a table is in a cut: one that was left behind has its own offsets."""
    text = left[table.silver].offsets if table.silver in left else offsets
    return {
        (topic, number): offset
        for topic, progress in Progress.from_json(text).offsets.topics.items()
        for number, offset in progress.next_offsets.items()
        if wanted is None or (topic, number) in wanted
    }


def _topics(source: SourceConfig, identity: TableIdentity, known: Collection[str]) -> set[str]:
    """The topics that a table's change events may come from: its own, and routed ones."""
    own = topic_of(identity, source.topic_prefix, source.connector)
    data = {topic for topic in known if topic_role(source, topic) is TopicRole.DATA}
    return {own, *source.kafka.topic_tables} & data if own in data else data


def _counted(rows: Iterable[RunRow]) -> dict[TopicPartition, int]:
    """Messages by topic partition, summed over the attempts of a try."""
    counted: Counter[TopicPartition] = Counter()
    for row in rows:
        for topic, partitions in json.loads(row.counts).get("topics", {}).items():
            counted.update({(topic, int(number)): n for number, n in partitions.items()})
    return dict(counted)


def _first(start: LandedOffsets, topic: str, number: int, topic_id: str) -> int:
    """Where a range starts; a topic that was created again starts anew."""
    progress = start.topics.get(topic)
    if progress is None or progress.topic_id != topic_id:
        return 0
    return progress.next_offsets.get(number, 0)


def _landed(row: RunRow) -> LandedOffsets:
    return LandedOffsets.from_json(json.dumps(json.loads(row.detail).get("offsets", {})))


def _run_started(row: RunRow) -> str:
    return str(json.loads(row.detail).get("run_started", ""))
