"""Progress of apply: how far each topic partition is in silver, and what later events need of it.

In and out: the JSON text of `quality.cuts.offsets`. It has the form of the landed offsets, with
more members per topic: `high`, the highest position number seen in each topic partition, which
stands in where a connector sends no commit position (`design.md` §3, PostgreSQL); `top`, the
highest position and its GTID, below which a new log may begin (MySQL, MariaDB) and at which a
source snapshot reads (PostgreSQL).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from lakehouse.plan.epochs import High, Top
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress

_Place = tuple[str, int]
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Progress:
    """What is applied.

    Attributes:
        offsets: Topic partition → first offset that is not applied.
        highs: (topic, topic partition) → highest position number in what is applied of its log.
        tops: (topic, topic partition) → its newest streamed event in what is applied.
    """

    offsets: LandedOffsets = field(default_factory=LandedOffsets)
    highs: Mapping[tuple[str, int], High] = field(default_factory=dict)
    tops: Mapping[tuple[str, int], Top] = field(default_factory=dict)

    def next_offset(self, topic: str, partition: int) -> int:
        """The first offset to apply; 0 for a topic partition that is new."""
        return self.offsets.next_offset(topic, partition) or 0

    def narrowed(self, offsets: LandedOffsets) -> Progress:
        """These offsets, with what is known of their topic partitions here."""
        places = {
            (topic, number)
            for topic, entry in offsets.topics.items()
            for number in entry.next_offsets
        }
        highs = {place: high for place, high in self.highs.items() if place in places}
        tops = {place: top for place, top in self.tops.items() if place in places}
        return Progress(offsets, highs, tops)

    def to_json(self) -> str:
        """As JSON text, keys sorted: equal progress gives equal text."""
        topics = json.loads(self.offsets.to_json())
        tops = {place: (top.position, top.gtid) for place, top in self.tops.items()}
        highs = {p: (h.log, h.number) if h.log else h.number for p, h in self.highs.items()}
        for member, values in (("high", highs), ("top", tops)):
            for (topic, partition), value in values.items():
                entry = topics.setdefault(topic, {"id": "", "partitions": {}})
                entry.setdefault(member, {})[str(partition)] = value
        return json.dumps(topics, sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Progress:
        """Read what `to_json` wrote; empty text is no progress."""
        if not text:
            return Progress()
        topics = json.loads(text).items()
        highs = {
            (topic, int(partition)): High(*high) if isinstance(high, list) else High("", high)
            for topic, entry in topics
            for partition, high in entry.get("high", {}).items()
        }
        tops = {
            (topic, int(partition)): Top(*top)
            for topic, entry in topics
            for partition, top in entry.get("top", {}).items()
        }
        return Progress(LandedOffsets.from_json(text), highs, tops)


def messages_between(start: Progress, end: LandedOffsets) -> int:
    """How many messages lie between two points at most; offsets may have gaps."""
    return sum(behind - first for _, first, behind in ranges_between(start, end))


def ranges_between(
    start: Progress, end: LandedOffsets
) -> Iterator[tuple[tuple[str, int], int, int]]:
    """Topic partition and offsets `[first, behind)` of what lies between two points."""
    for topic, entry in end.topics.items():
        for number, behind in entry.next_offsets.items():
            first = start.next_offset(topic, number)
            if first < behind:
                yield (topic, number), first, behind


def limited(landed: LandedOffsets, ends: Mapping[tuple[str, int], int]) -> LandedOffsets:
    """The landed offsets, lowered to the given ends where there is one."""
    return LandedOffsets(
        {
            topic: TopicProgress(
                progress.topic_id,
                {
                    number: min(next_offset, ends.get((topic, number), next_offset))
                    for number, next_offset in progress.next_offsets.items()
                },
            )
            for topic, progress in landed.topics.items()
        }
    )


def lowest(progress: Progress, others: Iterable[Progress]) -> Progress:
    """The progress with each topic partition lowered to where any of the others stands.

    What is behind there is read again, so that what it showed counts no longer.
    """
    ends: dict[tuple[str, int], int] = {}
    highs, tops = dict(progress.highs), dict(progress.tops)
    for other in others:
        for topic, entry in other.offsets.topics.items():
            for number, next_offset in entry.next_offsets.items():
                place = (topic, number)
                if next_offset >= ends.get(place, progress.next_offset(*place)):
                    continue
                ends[place] = next_offset
                _put(highs, other.highs, place)
                _put(tops, other.tops, place)
    return Progress(limited(progress.offsets, ends), highs, tops)


def _put(values: dict[_Place, _V], others: Mapping[_Place, _V], place: _Place) -> None:
    """Give a place the value that the others have, or none."""
    if place in others:
        values[place] = others[place]
    else:
        values.pop(place, None)


def replaced(offsets: LandedOffsets, limits: Mapping[tuple[str, int], int]) -> LandedOffsets:
    """Only the topic partitions that have a limit, at their limits."""
    topics = {topic for topic, _ in limits}
    return LandedOffsets(
        {
            topic: TopicProgress(
                progress.topic_id,
                {number: limit for (name, number), limit in limits.items() if name == topic},
            )
            for topic, progress in offsets.topics.items()
            if topic in topics
        }
    )
