"""How far the published tables of a source are behind what Kafka has for them.

In: the ends of its topics, and the newest published cut. Out: the lag of each table in messages,
time and source position: the one computation behind `lakehouse status`, metrics and pages.

What waits counts, not how old the newest row is: a source that is idle is not behind. Its
heartbeats say that the connector is alive meanwhile. Offsets may have gaps, so that a number of
messages is the most that can wait.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.connectors import CONNECTORS
from lakehouse.names import RETIRED, TableIdentity, format_table
from lakehouse.plan.cuts.published import excluded_of, identities_of, start_of_batch
from lakehouse.plan.cuts.snapshots import topics_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicBounds, offsets_behind

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Stamp:
    """One message of a topic partition.

    Attributes:
        time: Its timestamp in Kafka.
        position: That of its change event; empty where it has none.
    """

    offset: int
    time: datetime
    position: str = ""


@dataclass(frozen=True, slots=True)
class Tails:
    """Where the topics of a source end.

    Attributes:
        bounds: Of each topic that the source lands.
        first: Topic partition → the oldest message that may wait, of those where one does.
        last: Topic partition → its newest message.
        unseen: Why Kafka was not read; the ends are then those of what has landed.
    """

    as_of: datetime
    bounds: tuple[TopicBounds, ...]
    first: Mapping[TopicPartition, Stamp] = field(default_factory=dict)
    last: Mapping[TopicPartition, Stamp] = field(default_factory=dict)
    unseen: str = ""


@dataclass(frozen=True, slots=True)
class TableLag:
    """What waits for one table.

    Attributes:
        table: As in the TOML file; the topic, where no published table reads it.
        silver: Its silver table; empty where none is published.
        messages: How many wait at most.
        waits_since: When Kafka got the oldest of them; None for none, or where it is not known.
        newest: When Kafka got the table's newest message.
        published: Source position of the newest event that is published; empty if not known.
        position: The same of the newest event in Kafka.
        held: Why the table stays behind, where it does.
    """

    table: str
    silver: str
    messages: int
    waits_since: datetime | None = None
    newest: datetime | None = None
    published: str = ""
    position: str = ""
    held: str = ""


@dataclass(frozen=True, slots=True)
class SourceLag:
    """The lag of a source.

    Attributes:
        cut: The newest published cut; empty before the first one.
        messages: How many wait at most, each topic partition counted once.
        heartbeat: When the connector last said that it is alive.
        unseen: Why Kafka was not read; the lag is then that behind what has landed.
    """

    source: str
    as_of: datetime
    cut: str
    messages: int
    tables: tuple[TableLag, ...]
    heartbeat: datetime | None = None
    unseen: str = ""

    @property
    def waits_since(self) -> datetime | None:
        """When Kafka got the oldest message that waits."""
        return min((t.waits_since for t in self.tables if t.waits_since), default=None)

    @property
    def newest(self) -> datetime | None:
        """When Kafka got the newest change event."""
        return max((t.newest for t in self.tables if t.newest), default=None)

    def to_json(self) -> str:
        """As the JSON object that a step's detail has."""
        return json.dumps(asdict(self), default=datetime.isoformat)

    @staticmethod
    def from_json(text: str) -> SourceLag:
        """Read what `to_json` wrote."""
        values = json.loads(text)
        values["tables"] = tuple(TableLag(**_with_times(table)) for table in values["tables"])
        return SourceLag(**_with_times(values))


_TIMES = ("as_of", "waits_since", "newest", "heartbeat")


def _with_times(values: dict[str, Any]) -> dict[str, Any]:
    read = {name: datetime.fromisoformat(str(values[name])) for name in _TIMES if values.get(name)}
    return values | read


def seconds_behind(since: datetime | None, messages: int, as_of: datetime) -> float | None:
    """How long the oldest message has waited: 0 where none does, None where it is not known."""
    if not messages:
        return 0.0
    return None if since is None else max(0.0, (as_of - since).total_seconds())


def source_lag(source: SourceConfig, cut: CutRow | None, tails: Tails) -> SourceLag:
    """The lag of a source and of each of its tables, those that wait longest first.

    Args:
        source: The source.
        cut: Its newest published cut.
        tails: The ends of its topics.
    """
    data = [b for b in tails.bounds if topic_role(source, b.topic) is TopicRole.DATA]
    tables = list(_tables(source, cut, tails, data))
    start = start_of_batch(cut).offsets
    heartbeats = [
        stamp.time
        for (topic, _), stamp in tails.last.items()
        if topic_role(source, topic) is TopicRole.HEARTBEAT
    ]
    return SourceLag(
        source=source.name,
        as_of=tails.as_of,
        cut=cut.cut_id if cut else "",
        messages=offsets_behind(data, start),
        tables=tuple(sorted(tables, key=lambda lag: (-lag.messages, lag.table))),
        heartbeat=max(heartbeats, default=None),
        unseen=tails.unseen,
    )


def _tables(
    source: SourceConfig, cut: CutRow | None, tails: Tails, data: Iterable[TopicBounds]
) -> Iterator[TableLag]:
    """Each published table, and each topic that waits for its first cut."""
    by_topic = {each.topic: each for each in data}
    progress, excluded = Progress.from_json(cut.offsets if cut else ""), excluded_of(cut)
    left = set(by_topic)
    for silver, members in identities_of(cut).items():
        if RETIRED.search(silver):
            continue
        identity = TableIdentity.of(members)
        mine = topics_of([identity], by_topic, source)
        if not CONNECTORS[source.connector].own_topics:
            mine = tuple(sorted(by_topic))
        left -= set(mine)
        behind = excluded.get(silver)
        applied = Progress.from_json(behind.offsets) if behind else progress
        name, held = format_table(identity, source.connector), behind.reason if behind else ""
        lag = TableLag(name, silver, 0, held=held)
        yield _measured(lag, [by_topic[topic] for topic in mine], applied, tails)
    for topic in sorted(left):
        lag = _measured(TableLag(topic, "", 0), [by_topic[topic]], progress, tails)
        if lag.messages:
            yield lag


def _measured(
    lag: TableLag, topics: Iterable[TopicBounds], applied: Progress, tails: Tails
) -> TableLag:
    """The lag of a table whose events stand in these topics, of which so much is applied."""
    ends = tuple(topics)
    places = [(each.topic, part.partition) for each in ends for part in each.partitions]
    last = [tails.last[place] for place in places if place in tails.last]
    messages = offsets_behind(ends, applied.offsets)
    position = max((stamp.position for stamp in last), default="")
    tops = [applied.tops[place].position for place in places if place in applied.tops]
    return TableLag(
        table=lag.table,
        silver=lag.silver,
        messages=messages,
        waits_since=_oldest(places, applied.offsets, tails) if messages else None,
        newest=max((stamp.time for stamp in last), default=None),
        # What stands still does so in the middle of a batch, whose end alone is known.
        published=("" if lag.held else max(tops, default="")) if messages else position,
        position=position,
        held=lag.held,
    )


def _oldest(
    places: Iterable[TopicPartition], applied: LandedOffsets, tails: Tails
) -> datetime | None:
    """When the oldest of them came; None where another table waits before it in its topic."""
    mine = (
        stamp.time
        for place in places
        if (stamp := tails.first.get(place)) is not None
        and stamp.offset >= (applied.next_offset(*place) or 0)
    )
    return min(mine, default=None)
