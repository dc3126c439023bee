"""Offsets that were lost before they landed, as the commits of bronze tell them.

In: the plan of a landing whose loss a person has accepted. Out: a property of the snapshot from
which on bronze goes on without them, so that whoever applies it hears of them whatever became of
the landing's own row. Expiry forgets it with the snapshot: days behind a cut that tells it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple

from pyiceberg.table.snapshots import Snapshot

from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange
from lakehouse.spark.bronze.table import Bronze

_PROPERTY = "lakehouse.lost_offsets"


def lost_property(lost: Iterable[OffsetRange]) -> dict[str, str]:
    """What a landing's commit says of the offsets that it leaves out; nothing for none."""
    found = [astuple(each) for each in lost]
    return {_PROPERTY: json.dumps(found)} if found else {}


def lost_offsets(bronze: Bronze, since: LandedOffsets) -> tuple[OffsetRange, ...]:
    """The lost offsets that are not before others, in order of their topics.

    Args:
        bronze: The source's messages.
        since: Up to where silver has the messages.
    """
    return tuple(sorted(each for each in _all_told(bronze) if _is_behind(each, since)))


def lost_topics(bronze: Bronze, since: LandedOffsets) -> frozenset[str]:
    """The topics of which offsets were lost that transactions behind `since` may have had.

    What waits for the rest of a transaction begins right behind the lost ones, or before them.

    Args:
        bronze: The source's messages.
        since: Up to where silver has the messages.
    """
    return frozenset(lost.topic for lost in _all_told(bronze) if lost.end >= _next_of(lost, since))


def _all_told(bronze: Bronze) -> Iterator[OffsetRange]:
    return (each for snapshot in bronze.ancestors() for each in _told(snapshot))


def _told(snapshot: Snapshot) -> list[OffsetRange]:
    text = snapshot.summary.get(_PROPERTY) if snapshot.summary else None
    return [OffsetRange(*each) for each in json.loads(text or "[]")]


def _is_behind(lost: OffsetRange, since: LandedOffsets) -> bool:
    return lost.start >= _next_of(lost, since)


def _next_of(lost: OffsetRange, since: LandedOffsets) -> int:
    """The first offset that silver does not have, in the topic partition of a range."""
    progress = since.topics.get(lost.topic)
    if progress is None or progress.topic_id != lost.topic_id:
        return 0
    return progress.next_offsets.get(lost.partition, 0)
