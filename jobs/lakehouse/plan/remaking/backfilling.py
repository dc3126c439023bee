"""Backfill: what an interval of time asks for, and whether all of its messages are there.

In: the interval, what runs have landed, what bronze has of it. Out: the sentence of an interval
without a change, or the reason why it is refused; what was made again, for a person.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import ENDINGS
from lakehouse.plan.records import RunRow
from lakehouse.plan.remaking.differences import KEYS_SHOWN, Difference

# Of each table so many missing ranges are named.
_GAPS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Interval:
    """A time from `start` (inclusive) to `end` (exclusive), of Kafka's timestamps."""

    start: datetime
    end: datetime

    @property
    def milliseconds(self) -> tuple[int, int]:
        """As Kafka counts them."""
        return round(self.start.timestamp() * 1000), round(self.end.timestamp() * 1000)

    def __str__(self) -> str:
        return f"from {_text(self.start)} until {_text(self.end)}"


@dataclass(frozen=True, slots=True)
class Backfill:
    """What a run makes again from bronze, once it has landed and published what is new.

    Attributes:
        interval: The rows that its messages touch are made again.
        tables: Source tables as the TOML file names them; none for all of the source.
    """

    interval: Interval
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """Offsets `[first, behind)` of a topic partition that were gone before they could be landed.

    Attributes:
        known: When the landing ended that did not find them: they were sent before.
    """

    topic: str
    partition: int
    first: int
    behind: int
    known: datetime

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}] {self.first} to {self.behind - 1}"


@dataclass(frozen=True, slots=True)
class Seen:
    """What bronze has around a gap.

    Attributes:
        inside: How many messages of the gap; some where a landing was killed behind its commit.
        before: The newest message before the gap; None for none.
        after: The oldest message behind it; None for none.
    """

    inside: int = 0
    before: datetime | None = None
    after: datetime | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What bronze has of an interval.

    Attributes:
        messages: How many messages of the topics that hold changes of tables.
        first: When the oldest of all their messages was sent; None where there is none.
        newest: The newest one.
        gaps: The gaps of these topics, each with what is around it.
    """

    messages: int
    first: datetime | None = None
    newest: datetime | None = None
    gaps: Mapping[Gap, Seen] | None = None


def gaps(runs: Iterable[RunRow], topics: Collection[str]) -> tuple[Gap, ...]:
    """Where landings began behind what was landed before, or behind the topic's beginning.

    Args:
        runs: Rows of the source, oldest first.
        topics: Those whose gaps count.
    """
    return tuple(sorted({gap for gap in _gaps(runs) if gap.topic in topics}))


def _gaps(runs: Iterable[RunRow]) -> Iterator[Gap]:
    landed: dict[tuple[str, str, int], int] = {}
    for row in runs:
        detail = json.loads(row.detail) if row.step == "land" else {}
        if row.status != "succeeded" or "starts" not in detail:
            continue
        starts = {(topic, number): start for topic, number, start in detail["starts"]}
        for topic, entry in detail["offsets"].items():
            for text, behind in entry["partitions"].items():
                place = (topic, entry["id"], int(text))
                before = landed.get(place, 0)
                start = starts.get((topic, int(text)), behind)
                if start > before:
                    yield Gap(topic, int(text), before, start, row.ended_at)
                landed[place] = max(before, behind)


def refuse_lost(source: str, interval: Interval, found: Contents) -> None:
    """What cannot be made again from bronze is not called well.

    Raises:
        StepFailed: Messages that may be of the interval are in neither Kafka nor bronze.
    """
    lost = [gap for gap, seen in (found.gaps or {}).items() if _may_be_of(interval, gap, seen)]
    if lost:
        named = ", ".join(map(str, lost[:_GAPS_SHOWN]))
        more = f" and {len(lost) - _GAPS_SHOWN} more" if len(lost) > _GAPS_SHOWN else ""
        raise StepFailed(
            f"Source {source!r}: messages that may be of the interval {interval} are gone from "
            f"Kafka and were never landed: offsets {named}{more}: expected them in Kafka or in "
            f"bronze{_first(found)}; nothing was made again: read the tables again with an "
            "incremental snapshot, or backfill an interval that begins later"
        )


def _may_be_of(interval: Interval, gap: Gap, seen: Seen) -> bool:
    if seen.inside:
        return False
    newest = min(seen.after or gap.known, gap.known)
    return interval.start < newest and (seen.before is None or interval.end > seen.before)


def _first(found: Contents) -> str:
    return f", whose first message is of {_text(found.first)}" if found.first else ""


def nothing_there(interval: Interval, found: Contents) -> str:
    """The outcome of an interval in which nothing changed."""
    if found.first is None or found.newest is None:
        rest = "no message of a table has come yet"
    else:
        rest = f"the first message is of {_text(found.first)}, the newest of {_text(found.newest)}"
    return f"nothing to derive again: neither Kafka nor bronze has a change {interval}; {rest}"


def derived_again(
    cut: str, differences: Sequence[Difference], left: Mapping[str, str]
) -> tuple[str, dict[str, int]]:
    """The outcome of a backfill: a sentence for a person, and its numbers.

    Args:
        cut: The cut up to which the rows were made.
        differences: Of each Iceberg table, a silver table before what belongs to it.
        left: Touched table → why it stays as it is.
    """
    rows = [each for each in differences if not each.table.endswith(ENDINGS[1:])]
    numbers = {
        "rows_derived": sum(each.after + each.lost for each in rows),
        "rows_differing": sum(each.count for each in rows),
        "tables_derived": len(rows),
    }
    what = f"{numbers['rows_derived']} rows of {len(rows)} tables derived again up to cut {cut}"
    parts = [f"{what}: {numbers['rows_differing'] or 'none'} differ"]
    parts += list(_shown(differences))
    parts += [f"{name} stays as it is: {reason}" for name, reason in sorted(left.items())]
    return "; ".join(parts), numbers


def _shown(differences: Iterable[Difference]) -> Iterator[str]:
    """What differs, with so many keys in all."""
    keys = KEYS_SHOWN
    for each in differences:
        if each.count:
            yield each.shown(keys)
            keys -= min(keys, len(each.keys))


def _text(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
