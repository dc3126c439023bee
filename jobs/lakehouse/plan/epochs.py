"""Epochs: the logs that a source has had, one after another.

In and out: the JSON text of `quality.cuts.epochs`. A server that takes over has a binlog of its
own, whose positions may be lower than those before. From an epoch's start on events are newer than
all of the epochs before (`design.md` §3); what the older logs had is told by its GTID, on whichever
server it comes again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

# Of each server so many intervals of GTIDs are kept as they are, the newest; gaps between older
# ones, in which a newer log has transactions that an older one lost, are closed.
MOST_INTERVALS = 200
# Of so many source snapshots the positions are kept, the highest.
MOST_READS = 1000

# `uuid:23` or `uuid:tag:23` in MySQL, `0-11-23` in MariaDB: what numbers, and the number
# (https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html,
# https://mariadb.com/kb/en/gtid/).
GTID = r"^(.+)[:-]([0-9]{1,18})$"

Interval = tuple[int, int]
Gtids: TypeAlias = Mapping[str, tuple[Interval, ...]]


@dataclass(frozen=True, slots=True)
class Top:
    """The newest streamed event of a topic partition, by position.

    Attributes:
        gtid: That of its transaction; None where there are none.
    """

    position: str
    gtid: str | None = None

    @property
    def server(self) -> str:
        """What numbers the transactions of its GTID; empty where there is none."""
        found = re.match(GTID, self.gtid or "")
        return found[1] if found else ""


@dataclass(frozen=True, order=True, slots=True)
class High:
    """The highest position number of a topic partition, in the newest of its logs.

    Attributes:
        log: As `spark.parsing.epochs.log_of` gives it; empty for the first log.
    """

    log: str
    number: int


@dataclass(frozen=True, slots=True)
class Epoch:
    """Where a new log begins. The first log of a source needs none of these.

    Attributes:
        starts: Topic partition → first offset of the new log; 0 for one that is not named.
        known: Server → closed intervals of the numbers of its GTIDs that the older logs had, also
            those between that no topic partition has shown yet.
        reads: Positions of source snapshots that the older logs had: their events carry no GTID.
        confirmed_ms: Where a person has confirmed it: messages that Kafka has from this time on
            are of the new log, in milliseconds since 1970; None for one that its GTIDs tell.
    """

    starts: Mapping[tuple[str, int], int] = field(default_factory=dict)
    known: Gtids = field(default_factory=dict)
    reads: tuple[str, ...] = ()
    confirmed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Fall:
    """Where, in a topic partition, an event stands below the one before it.

    Attributes:
        offset: The first one behind the event before it.
        newest: The number of the newest log that it can be of by the GTIDs from there on; 0 is the
            first log of the source.
    """

    offset: int
    newest: int


def starts_by_falls(falls: Sequence[Fall], first: int, newest: int) -> dict[int, int]:
    """Where logs begin in a topic partition that had shown nothing of them.

    Args:
        falls: In order of offset; each begins a log that is newer than the one before.
        first: The number of the first log that the topic partition has shown nothing of.
        newest: The number of the newest log.

    Returns:
        Number of a log → its first offset, of those from the first fall on. Empty where the logs
        that are known do not explain every fall.
    """
    numbers: list[int] = []
    for fall in reversed(falls):
        numbers.append(min(fall.newest, numbers[-1] - 1 if numbers else newest))
    if not numbers or numbers[-1] < first:
        return {}
    begun = list(zip(reversed(numbers), (fall.offset for fall in falls), strict=True))
    return {
        log: next((offset for number, offset in begun if number >= log), falls[-1].offset)
        for log in range(numbers[-1], newest + 1)
    }


def epochs_to_json(epochs: Iterable[Epoch]) -> str:
    """As JSON text, empty for none; keys are sorted: equal epochs give equal text."""
    entries = [
        {
            "starts": _by_topic(epoch),
            "known": dict(epoch.known),
            "reads": epoch.reads,
            "confirmed_ms": epoch.confirmed_ms,
        }
        for epoch in epochs
    ]
    return json.dumps(entries, sort_keys=True, separators=(",", ":")) if entries else ""


def epochs_from_json(text: str) -> tuple[Epoch, ...]:
    """Read what `epochs_to_json` wrote."""
    return tuple(
        Epoch(
            {
                (topic, int(number)): start
                for topic, partitions in entry["starts"].items()
                for number, start in partitions.items()
            },
            {
                server: tuple((low, high) for low, high in intervals)
                for server, intervals in entry["known"].items()
            },
            tuple(entry.get("reads", ())),
            entry.get("confirmed_ms"),
        )
        for entry in json.loads(text or "[]")
    )


def unrecorded(epochs: Iterable[Epoch], times_ms: Iterable[int]) -> tuple[Epoch, ...]:
    """The logs that a person has confirmed and no cut has yet, oldest first."""
    recorded = {epoch.confirmed_ms for epoch in epochs}
    return tuple(Epoch(confirmed_ms=time) for time in sorted(times_ms) if time not in recorded)


def _by_topic(epoch: Epoch) -> dict[str, dict[str, int]]:
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), start in epoch.starts.items():
        topics.setdefault(topic, {})[str(number)] = start
    return topics
