"""Whether a repeated source snapshot may remove the rows that it did not read.

It never says what was deleted since the one before, and a filtered snapshot has the same markers as
a whole one (`design.md` §3, Repeated source snapshots).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lakehouse.config import SnapshotConfig
from lakehouse.plan.batches.tables import Beginning, SweepRule
from lakehouse.plan.topics.offsets import LandedOffsets

STARTS = ("first", "first_in_data_collection")
ENDS = ("last", "last_in_data_collection")


@dataclass(frozen=True, slots=True)
class Marker:
    """An event that begins or ends the part of a source snapshot that reads one table."""

    offset: int
    snapshot: str
    position: str
    topic: str
    partition: int
    source_ts_ms: int | None


@dataclass(frozen=True, slots=True)
class Generation:
    """What one source snapshot reads of a table.

    Attributes:
        start: Where it begins; None where no event of the batch says so.
        end: Its last event.
        after: Offset of the last event of the one before it; -1 where that is not in the batch.
    """

    start: Beginning | None
    end: Marker
    after: int = -1


def newest_generation(markers: Iterable[Marker]) -> Generation | None:
    """The newest snapshot that ends; one that was interrupted starts again before it does.

    Args:
        markers: Those of one topic partition, in any order.
    """
    start: Beginning | None = None
    found: Generation | None = None
    for marker in sorted(markers, key=lambda marker: marker.offset):
        if marker.snapshot in STARTS:
            start = Beginning(marker.offset, marker.position)
        else:
            after = found.end.offset if found else -1
            start, found = None, Generation(start, marker, after)
    return found


def sweep_rule(
    config: SnapshotConfig,
    topics: Collection[str],
    landed: LandedOffsets,
    unreadable: Collection[str],
    *,
    is_bag: bool,
) -> SweepRule:
    """What can be told of the rows that a snapshot did not read, and whether they may go.

    Args:
        config: The `snapshot` section of the TOML file.
        topics: Those with the table's events.
        landed: How far bronze goes.
        unreadable: Topics with messages in quarantine.
        is_bag: Whether the table has no key.
    """
    if is_bag:
        return SweepRule("the table has no key: rows that were read again may stand there twice")
    if sum(len(landed.topics[topic].next_offsets) for topic in topics) > 1:
        return SweepRule("its events stand in several topic partitions, which have no order")
    if not config.complete:
        return SweepRule(
            refused="a filtered snapshot looks the same: set snapshot.complete = true in the TOML "
            "file if every snapshot of this source reads whole tables"
        )
    if hidden := sorted(set(topics) & set(unreadable)):
        return SweepRule(
            refused=f"topic {hidden[0]!r} has messages in quarantine that may be of these rows: "
            "`lakehouse replay` applies what can be applied by now"
        )
    return SweepRule(share=config.max_sweep)
