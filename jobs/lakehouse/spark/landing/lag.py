"""Reads what the lag of a source is made from: its newest cut, and the ends of its topics.

In: a source. Out: a `SourceLag`. Kafka tells offsets, and of each topic partition the newest
message and the oldest one that waits; where it gives no answer, what has landed stands in.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from confluent_kafka import Consumer, Message, TopicPartition

from lakehouse.config import (
    Settings,
    SourceConfig,
    TopicRole,
    client_properties,
    kafka_properties,
    topic_role,
)
from lakehouse.connectors import CONNECTORS, Connector
from lakehouse.errors import ConfigError, KafkaUnreachable, LandingRefused
from lakehouse.plan.cuts.lag import SourceLag, Stamp, Tails, source_lag
from lakehouse.plan.cuts.published import start_of_batch
from lakehouse.plan.event_position import event_position
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import LandedOffsets, PartitionBounds, TopicBounds
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.kafka import read_topics

TopicPlace = tuple[str, int]

# What Kafka answers takes a fraction of a second, on a machine that is busy some.
_LONGEST_S = 20.0
_POLL_S = 0.5
_STAMPED = (TopicRole.DATA, TopicRole.HEARTBEAT)
# One message of each topic partition is wanted, so that little is fetched ahead.
_SMALL = {"fetch.message.max.bytes": 65_536, "queued.max.messages.kbytes": 4_096}


def measure_lag(
    source: SourceConfig,
    settings: Settings,
    ledger: Ledger | None,
    silent: dict[str, str] | None = None,
) -> SourceLag:
    """How far the published tables of a source are behind; never fails for want of Kafka.

    Args:
        source: The source.
        settings: Where its Kafka is looked up.
        ledger: The control tables; None where there is no catalog yet.
        silent: Addresses of Kafka that gave no answer, and why: they are not asked again. One that
            gives none is added.
    """
    known = {} if silent is None else silent
    cut = ledger.newest_cut(source.name) if ledger else None
    try:
        properties = kafka_properties(source, settings)
        address = properties["bootstrap.servers"]
        if address not in known:
            return source_lag(source, cut, _read_tails(source, properties, cut))
        unseen = known[address]
    except KafkaUnreachable as missing:
        unseen = known[address] = str(missing)
    except (ConfigError, LandingRefused) as missing:
        unseen = str(missing)
    return source_lag(source, cut, _landed(source, ledger, unseen))


def _landed(source: SourceConfig, ledger: Ledger | None, unseen: str) -> Tails:
    """What bronze knows of the topics."""
    bronze = Bronze(source.name, ledger) if ledger else None
    known = (bronze.recorded() if bronze and bronze.head() is not None else None) or LandedOffsets()
    bounds = tuple(
        TopicBounds(
            topic,
            progress.topic_id,
            tuple(PartitionBounds(n, 0, end) for n, end in sorted(progress.next_offsets.items())),
        )
        for topic, progress in sorted(known.topics.items())
    )
    return Tails(datetime.now(UTC), bounds, unseen=unseen)


def _read_tails(source: SourceConfig, properties: Mapping[str, str], cut: CutRow | None) -> Tails:
    bounds = read_topics(source, properties).bounds
    connector = CONNECTORS[source.connector]
    first, last = _wanted(source, bounds, start_of_batch(cut).offsets)
    readable = {**properties, "isolation.level": "read_committed"}
    newest = _stamps(readable, last, connector)
    # At the end may stand the tombstone of a delete event, or the marker of a transaction.
    bare = {p: at - 1 for p, at in last.items() if at and not _position(newest, p)}
    before = _stamps(readable, bare, connector)
    newest |= {
        place: replace(newest.get(place, stamp), position=stamp.position)
        for place, stamp in before.items()
    }
    alone = {p: newest[p] for p, offset in first.items() if offset == last[p] and p in newest}
    rest = {place: offset for place, offset in first.items() if place not in alone}
    oldest = _stamps(readable, rest, connector)
    return Tails(datetime.now(UTC), bounds, oldest | alone, newest)


def _position(stamps: Mapping[TopicPlace, Stamp], place: TopicPlace) -> str:
    return stamps[place].position if place in stamps else ""


def _wanted(
    source: SourceConfig, bounds: Iterable[TopicBounds], start: LandedOffsets
) -> tuple[dict[TopicPlace, int], dict[TopicPlace, int]]:
    """Of each topic partition the oldest offset that may wait, where one does, and the newest."""
    first: dict[TopicPlace, int] = {}
    last: dict[TopicPlace, int] = {}
    for topic in bounds:
        role = topic_role(source, topic.topic)
        for part in topic.partitions if role in _STAMPED else ():
            if part.end <= part.begin:
                continue
            place = (topic.topic, part.partition)
            last[place] = part.end - 1
            waiting = _first_waiting(topic, part, start)
            if role is TopicRole.DATA and waiting < part.end:
                first[place] = waiting
    return first, last


def _first_waiting(topic: TopicBounds, part: PartitionBounds, start: LandedOffsets) -> int:
    """The first offset that may wait; a topic that was made again waits from its begin."""
    known = start.topics.get(topic.topic)
    mine = known is not None and known.topic_id == topic.topic_id
    done = start.next_offset(topic.topic, part.partition) if mine else None
    return max(part.begin, done or 0)


def _stamps(
    properties: Mapping[str, str], places: Mapping[TopicPlace, int], connector: Connector
) -> dict[TopicPlace, Stamp]:
    """The first message of each topic partition from an offset on, of those that come in time."""
    if not places:
        return {}
    found: dict[TopicPlace, Stamp] = {}
    opened = Consumer(
        {
            **client_properties(properties),
            **_SMALL,
            "group.id": "lakehouse-lag",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    try:
        opened.assign([TopicPartition(topic, n, at) for (topic, n), at in places.items()])
        for message in _one_of_each(opened, len(places)):
            place = (str(message.topic()), int(message.partition() or 0))
            if message.error() is None:
                found[place] = _stamp(message, connector)
    finally:
        opened.close()
    return found


def _one_of_each(opened: Consumer, count: int) -> Iterator[Message]:
    """What comes of each partition first: a message, or that there is none."""
    seen: set[TopicPlace] = set()
    deadline = time.monotonic() + _LONGEST_S
    while len(seen) < count and time.monotonic() < deadline:
        message = opened.poll(_POLL_S)
        topic = message.topic() if message is not None else None
        # An error of the client alone belongs to no topic; it tries again by itself.
        if message is None or topic is None:
            continue
        place = (topic, int(message.partition() or 0))
        if place not in seen:
            seen.add(place)
            opened.pause([TopicPartition(*place)])
            yield message


def _stamp(message: Message, connector: Connector) -> Stamp:
    _, milliseconds = message.timestamp()
    value = message.value()
    return Stamp(
        int(message.offset() or 0),
        datetime.fromtimestamp(max(0, milliseconds) / 1000, UTC),
        event_position(value if isinstance(value, bytes) else None, connector),
    )
