"""How arrived messages are cut into batches: repeated, lost and cut anew, lagging or in order."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.support.archives import Message

OUTCOMES = ("applied", "twice", "lost")
_LEVELS = 4
# Of the event, or in the id of the transaction that it begins or ends.
_FILE = re.compile(rb'(?:"file":"|"id":"file=)([^",]+)')
_SERVER = re.compile(rb'"gtid":"[^"]*?([0-9]+)[:-][0-9]+"')
_PARTITIONS = 12  # Topic partitions whose progress differs; more repeat it.


@dataclass(frozen=True)
class Batch:
    """Messages that are landed together; a lost batch comes again, with more."""

    outcome: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Plan:
    """Cuts; `lagging`: each topic partition goes on at its own pace, else as they arrived.

    `fair`: a batch brings whatever had arrived when the one before was cut, and the first one
    something of each topic partition, as a landing does that asks Kafka where topics end. Nor does
    a topic partition lag behind a failover that another one shows: before a connector reads from
    another server, its producer has sent, or given up, what it had of the one before.
    """

    lagging: bool
    cuts: tuple[tuple[int, int], ...]
    fair: bool = False

    def batches(self, messages: Sequence[Message]) -> Iterator[Batch]:
        """The batches of an arrival order; the last one brings all the rest."""
        queues: dict[tuple[str, int], list[Message]] = {}
        for message in messages:
            place = (message.topic, message.partition) if self.lagging else ("", 0)
            queues.setdefault(place, []).append(message)
        lanes, done = list(queues.values()), [0] * len(queues)
        arrivals = {id(message): number for number, message in enumerate(messages)}
        servers = _servers(lanes)
        reached = -1
        for outcome, number in self.cuts:
            ends = []
            for index, (lane, start) in enumerate(zip(lanes, done, strict=True)):
                level = number // _LEVELS ** (index % _PARTITIONS) % _LEVELS
                part = level / (_LEVELS - 1) if self.lagging else number % 61 / 120
                ends.append(start + int((len(lane) - start) * part))
            if self.fair and self.lagging:
                times = [[arrivals[id(message)] for message in lane] for lane in lanes]
                least = [max(1, bisect_right(lane, reached)) for lane in times]
                ends = list(map(max, ends, least))
                ends = _behind_failovers(servers, ends)
                reached = max(lane[end - 1] for lane, end in zip(times, ends, strict=True))
            yield Batch(OUTCOMES[outcome], _between(lanes, done, ends))
            done = done if OUTCOMES[outcome] == "lost" else ends
        yield Batch("applied", _between(lanes, done, [len(lane) for lane in lanes]))


@dataclass(frozen=True)
class Cuts:
    """The batches of a plan over known messages, for those who ask for them often."""

    lagging: bool
    found: tuple[Batch, ...]

    @staticmethod
    def of(plan: Plan, messages: Sequence[Message]) -> Cuts:
        """Cut them once."""
        return Cuts(plan.lagging, tuple(plan.batches(messages)))

    def batches(self, _: Sequence[Message]) -> tuple[Batch, ...]:
        """As the plan gives them."""
        return self.found


PLANS = st.builds(
    Plan,
    st.booleans(),
    st.lists(
        st.tuples(st.integers(0, len(OUTCOMES) - 1), st.integers(0, _LEVELS**_PARTITIONS - 1)),
        max_size=10,
    ).map(tuple),
)


def _servers(lanes: Sequence[Sequence[Message]]) -> list[list[int]]:
    """The number of the server that each message was read from; a binlog's file is of one."""
    files = [[_found(_FILE, message) for message in lane] for lane in lanes]
    of_file: dict[str, int] = {}
    for lane, names in zip(lanes, files, strict=True):
        for message, name in zip(lane, names, strict=True):
            of_file[name] = max(of_file.get(name, 0), int(_found(_SERVER, message) or 0))
    return [[of_file[name] for name in names] for names in files]


def _found(pattern: re.Pattern[bytes], message: Message) -> str:
    match = pattern.search(message.value or b"")
    return match[1].decode() if match else ""


def _behind_failovers(servers: Sequence[Sequence[int]], ends: Sequence[int]) -> list[int]:
    """Ends of which none is before the first message of the newest server that one shows."""
    newest = max((max(lane[:end], default=0) for lane, end in zip(servers, ends, strict=True)))
    return [
        max(end, next((at for at, server in enumerate(lane) if server >= newest), len(lane)))
        for lane, end in zip(servers, ends, strict=True)
    ]


def _between(
    lanes: Sequence[list[Message]], starts: Sequence[int], ends: Sequence[int]
) -> tuple[Message, ...]:
    """The messages of half-open ranges."""
    spans = zip(lanes, starts, ends, strict=True)
    return tuple(message for lane, start, end in spans for message in lane[start:end])
