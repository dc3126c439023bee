"""Whether the rows of a snapshot are published: its topics are landed and in the newest cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.config import SourceConfig, is_mapped
from lakehouse.names import TableIdentity, topic_of
from lakehouse.plan.cuts.published import excluded_of, identities_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicBounds, offsets_behind


@dataclass(frozen=True, slots=True)
class Publication:
    """How much of a snapshot readers see.

    Attributes:
        cut: The newest published cut; empty where there is none.
        behind: How many offsets of its topics are not in it.
        held: Of each table that waits for a person, why.
    """

    cut: str
    behind: int
    held: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether all is in the cut."""
        return bool(self.cut) and not self.behind


def topics_of(
    tables: Iterable[TableIdentity], existing: Iterable[str], source: SourceConfig
) -> tuple[str, ...]:
    """The topics where the events of tables stand, of those that there are."""
    wanted = tuple(tables)
    own = {topic_of(table, source.topic_prefix, source.connector) for table in wanted}
    return tuple(
        topic
        for topic in sorted(set(existing))
        if topic in own or any(is_mapped(source, topic, table) for table in wanted)
    )


def publication(
    bounds: Iterable[TopicBounds],
    tables: Iterable[TableIdentity],
    cut: CutRow | None,
    source: SourceConfig,
) -> Publication:
    """Compare a cut with the topics of a snapshot's tables.

    Args:
        bounds: The topics' bounds; each `stop` is behind the last row of the snapshot.
        tables: The tables.
        cut: The newest published cut.
        source: The source.
    """
    ends = tuple(bounds)
    if cut is None:
        return Publication("", offsets_behind(ends, LandedOffsets()), ())
    identities = identities_of(cut)
    held, behind = [], offsets_behind(ends, Progress.from_json(cut.offsets).offsets)
    for table in tables:
        parts = table.parts(source.connector)
        for silver, left in excluded_of(cut).items():
            identity = identities.get(silver)
            if identity is not None and TableIdentity.of(identity).parts(source.connector) == parts:
                missing = offsets_behind(ends, Progress.from_json(left.offsets).offsets)
                behind = max(behind, missing)
                held += [f"{silver}: {left.reason}"] if missing else []
    return Publication(cut.cut_id, behind, tuple(held))
