"""What a run staged, as validation looks at it.

In: the staged cut of `apply` and the cut before it. Out: for each changed table where its batch
starts and ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.config.rules import OwnRule
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity, topic_of
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.published import Excluded, excluded_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.quality.schemas.column_facts import NO_FACTS, ColumnFacts
from lakehouse.spark.tables import snapshot_name


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key of a table, and where its rows refer to.

    Attributes:
        columns: The columns that refer.
        silver: The silver table that they refer to.
        relation: Its rows in the staged cut, in Spark SQL.
        referenced: Its columns, in the order of those that refer.
        rows: How many rows it has.
    """

    columns: tuple[str, ...]
    silver: str
    relation: str
    referenced: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class Target:
    """One silver table and what of it is judged: the batch of a staged one, or all of a cut's.

    Attributes:
        start: Topic partition → first offset of the batch.
        end: Topic partition → first offset that the table does not hold.
        before: Its snapshot in the published cut before it; None where that has no such table.
        position: The highest position of the cut; empty where it is not known.
        published_position: The same of the published cut before it.
        is_whole: Whether all rows of a published cut are judged, and no batch.
        settled: Rows that a source snapshot read before it have what they refer to, if there is
            any; None where no row has that a source snapshot read.
        facts: What its schema versions say.
        rules: What the TOML file, or a file that it names, expects of its rows.
        references: Its foreign keys that can be judged.
        not_judged: What of it is not judged, each with its reason.
        broken: Rule → why Spark cannot compute it for the rows.
    """

    table: StagedTable
    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    before: int | None = None
    position: str = ""
    published_position: str = ""
    is_whole: bool = False
    settled: datetime | None = None
    facts: ColumnFacts = NO_FACTS
    rules: tuple[OwnRule, ...] = ()
    references: tuple[Reference, ...] = ()
    not_judged: tuple[str, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)

    @property
    def ranges(self) -> Mapping[str, tuple[int, int]]:
        """Column in lower case → the least and the greatest number of its type in the source."""
        return self.facts.ranges

    @property
    def silver(self) -> str:
        """Namespace and name."""
        return self.table.silver

    @property
    def relation(self) -> str:
        """Its judged rows, in Spark SQL: a snapshot stays when its staging branch is gone."""
        return snapshot_name(self.silver, self.table.snapshot or 0)

    @property
    def is_new(self) -> bool:
        """Whether no published cut is before it: every row is a changed row."""
        return self.before is None

    @property
    def published(self) -> str:
        """Its rows in the published cut before it, in Spark SQL."""
        return snapshot_name(self.silver, self.before or 0)

    @property
    def snapshots(self) -> tuple[int, ...]:
        """The snapshots of it that are read."""
        return tuple(number for number in (self.table.snapshot, self.before) if number is not None)


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
    published = base.tables if base else {}
    before = base.offsets if base else ""
    left_before = excluded_of(base)
    return tuple(
        Target(
            table=table,
            start={**dict.fromkeys(end, 0), **_of_table(before, left_before, table, end)},
            end=end,
            # Of a table that takes the place of another, every row is new.
            before=None if table.silver in cut.replaced else published.get(table.silver),
            position=cut.position,
            published_position=base.position if base else "",
            facts=(facts or {}).get(identity.parts(source.connector), NO_FACTS),
            rules=tuple(r for r in source.table_options(identity).rules if not r.needs_all_rows),
            not_judged=source.table_options(identity).not_judged,
        )
        for table in cut.tables
        if table.changed
        for identity, end in [(TableIdentity.of(table.identity), _end(source, cut, table))]
    )


def _end(source: SourceConfig, cut: StagedCut, table: StagedTable) -> dict[TopicPartition, int]:
    ends = _of_table(cut.offsets, cut.excluded, table, None)
    topics = _topics(source, table, {topic for topic, _ in ends})
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


def _topics(source: SourceConfig, table: StagedTable, known: Collection[str]) -> set[str]:
    """The topics that a table's change events may come from: its own, and routed ones.

    One that is renamed has those of its old name too, where they stand in the batch.
    """
    own = topic_of(TableIdentity.of(table.identity), source.topic_prefix, source.connector)
    data = {topic for topic in known if topic_role(source, topic) is TopicRole.DATA}
    return {own, *table.topics, *source.kafka.topic_tables} & data if own in data else data
