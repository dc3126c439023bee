"""The law of conservation: each message of a batch has exactly one place.

`landed + pending_before = applied + superseded + quarantined + control + pending_after`, for each
topic partition. In: counts by outcome. Out: the counts of the law, and whether it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from lakehouse.plan.batches.tables import TopicPartition


@dataclass(frozen=True, slots=True)
class Law:
    """The counts of one topic partition.

    Attributes:
        pending_before: Were landed earlier and waited.
        open_transaction: Wait for the rest of a transaction that came first.
        held_table: Wait because their table is held.
    """

    landed: int = 0
    pending_before: int = 0
    applied: int = 0
    superseded: int = 0
    quarantined: int = 0
    control: int = 0
    open_transaction: int = 0
    held_table: int = 0

    @property
    def pending_after(self) -> int:
        """What waits for the next run, whatever the reason."""
        return self.open_transaction + self.held_table

    @property
    def holds(self) -> bool:
        """Whether every message has exactly one place."""
        places = self.applied + self.superseded + self.quarantined + self.control
        return self.landed + self.pending_before == places + self.pending_after and all(
            count >= 0 for count in asdict(self).values()
        )

    def to_counts(self) -> dict[str, int]:
        """The counts as they are stored, the sum of what waits among them."""
        return {**asdict(self), "pending_after": self.pending_after}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many messages of each topic partition ended where.

    Attributes:
        total: Everything between the newest cut and the landed offsets.
        waiting: Of it, behind an incomplete transaction.
        events: Change events of silver tables that do not wait for a transaction.
    """

    total: Mapping[TopicPartition, int]
    waiting: Mapping[TopicPartition, int]
    control: Mapping[TopicPartition, int]
    quarantined: Mapping[TopicPartition, int]
    events: Mapping[TopicPartition, int]
    superseded: Mapping[TopicPartition, int]
    held: Mapping[TopicPartition, int]
    pending_before: Mapping[TopicPartition, int]


def balance(outcomes: Outcomes) -> dict[TopicPartition, Law]:
    """The law's counts for every topic partition that has messages or had some waiting."""
    places = set(outcomes.total) | {p for p, count in outcomes.pending_before.items() if count}
    return {place: _balance(outcomes, place) for place in sorted(places)}


def _balance(outcomes: Outcomes, place: TopicPartition) -> Law:
    superseded = outcomes.superseded.get(place, 0)
    held = outcomes.held.get(place, 0)
    before = outcomes.pending_before.get(place, 0)
    return Law(
        landed=outcomes.total.get(place, 0) - before,
        pending_before=before,
        applied=outcomes.events.get(place, 0) - superseded - held,
        superseded=superseded,
        quarantined=outcomes.quarantined.get(place, 0),
        control=outcomes.control.get(place, 0),
        open_transaction=outcomes.waiting.get(place, 0),
        held_table=held,
    )


def summed(counts: Iterable[Mapping[TopicPartition, int]]) -> dict[TopicPartition, int]:
    """The sum of several counts by topic partition."""
    total: Counter[TopicPartition] = Counter()
    for part in counts:
        total.update(part)
    return dict(total)


def to_json_counts(laws: Mapping[TopicPartition, Law]) -> dict[str, dict[str, int]]:
    """The counts keyed by `topic[partition]`, as `quality.runs.counts` holds them."""
    return {f"{topic}[{number}]": law.to_counts() for (topic, number), law in laws.items()}


def laws_of(counts: Mapping[str, object]) -> dict[TopicPartition, Law]:
    """The counts of the law as `to_json_counts` stored them."""
    names = set(Law.__dataclass_fields__)
    found: dict[TopicPartition, Law] = {}
    for place, law in counts.items():
        topic, _, number = place.rstrip("]").rpartition("[")
        if isinstance(law, Mapping) and topic:
            kept = {name: int(str(count)) for name, count in law.items() if name in names}
            found[(topic, int(number))] = Law(**kept)
    return found


def pending_of(counts: Mapping[str, object]) -> dict[TopicPartition, int]:
    """What waited after a run, from the counts that it stored."""
    found: dict[TopicPartition, int] = {}
    for place, law in counts.items():
        topic, _, number = place.rstrip("]").rpartition("[")
        if isinstance(law, Mapping) and topic:
            found[(topic, int(number))] = int(str(law["pending_after"]))
    return found
