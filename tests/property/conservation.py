"""The law of conservation (`design.md` §2.6), recomputed from what stands in bronze and in the cut.

What a message is, is read from its bytes here; what waits is what the cut does not reach, and how
many events must wait the reference says.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from lakehouse.plan.records import QUARANTINE
from tests.property.product import Product
from tests.property.reference import Reference
from tests.support.archives import Message

Place = tuple[str, int]
_OPS = frozenset("crudt")


@dataclass
class Conservation:
    """Follows one source of the product from run to run."""

    product: Product
    reference: Reference
    messages: dict[tuple[str, int, int], Message] = field(default_factory=dict)
    landed: Counter[Place] = field(default_factory=Counter)  # At the newest cut.
    pending: Counter[Place] = field(default_factory=Counter)
    applied: dict[Place, int] = field(default_factory=dict)  # → first offset that is not applied.
    seen: set[object] = field(default_factory=set)  # Events of which one is applied.

    def land(self, batch: Iterable[Message]) -> None:
        """Messages that a run landed, whether or not it published."""
        fresh = tuple(batch)
        self.messages |= {(m.topic, m.partition, m.offset): m for m in fresh}
        self.reference.apply(fresh)

    def check(self, spark: SparkSession) -> None:
        """The law after a run that published.

        Raises:
            AssertionError: A count is not what it must be.
        """
        places = self._bronze(spark)
        ends = self._ends()
        counts = self.product.outcomes["apply"].counts
        for (topic, partition), offsets in places.items():
            place, end = (topic, partition), ends.get((topic, partition), 0)
            inside = [
                self.messages[*place, offset]
                for offset in offsets
                if self.applied.get(place, 0) <= offset < end
            ]
            waiting = [self.messages[*place, offset] for offset in offsets if offset >= end]
            law = counts.get(f"{topic}[{partition}]")
            self._law(place, law, len(offsets), inside, waiting)
            self.landed[place], self.pending[place] = len(offsets), len(waiting)
            self.applied[place] = end
        rows = self.product.ledger.rows(QUARANTINE, source=self.product.source.name)
        assert list(rows) == [], "a good message is in quarantine"

    def _law(
        self,
        place: Place,
        law: object,
        landed: int,
        inside: list[Message],
        waiting: list[Message],
    ) -> None:
        events = [message for message in inside if is_event(message)]
        # A truncate that comes again does again what it did, and so does a read event whose place
        # is what was streamed before it.
        again = ("t", "r") if self.reference.connector == "postgresql" else ("t",)
        named = [identity(event) for event in events if _op(event) not in again]
        names = set(named)
        repeated = len(named) - len(names - self.seen)
        self.seen |= names
        expected = {
            "landed": landed - self.landed[place],
            "pending_before": self.pending[place],
            "quarantined": 0,
            "control": len(inside) - len(events),
            "pending_after": len(waiting),
        }
        if law is None:  # It has no row where nothing is new and nothing waits.
            assert not any(expected.values()), f"{place} has no counts: {expected}"
            return
        assert isinstance(law, Mapping)
        assert {name: law[name] for name in expected} == expected, place
        assert law["applied"] + law["superseded"] == len(events), place
        assert law["superseded"] >= repeated, f"{place}: {repeated} events are redeliveries"
        must_wait = len(self.reference.waiting[place])
        assert sum(map(is_event, waiting)) >= must_wait, f"{place}: {must_wait} events must wait"

    def _bronze(self, spark: SparkSession) -> dict[Place, list[int]]:
        """The offsets in bronze, which must be those of all messages that landed."""
        rows = spark.sql(
            f"SELECT topic, partition, offset FROM lakehouse.bronze.{self.product.source.name}"
        ).collect()
        found: dict[Place, list[int]] = {}
        for topic, partition, offset in rows:
            found.setdefault((topic, partition), []).append(offset)
        assert sorted(tuple(row) for row in rows) == sorted(self.messages)
        return found

    def _ends(self) -> dict[Place, int]:
        cut = self.product.cut
        return {
            (topic, int(partition)): end
            for topic, entry in json.loads(cut.offsets if cut else "{}").items()
            for partition, end in entry["partitions"].items()
        }


def is_event(message: Message) -> bool:
    """Whether a message is a change event."""
    return message.value is not None and _op(message) in _OPS


def identity(event: Message) -> object:
    """What two deliveries of one event have in common."""
    payload, op = _payload(event), _op(event)
    order = (payload.get("transaction") or {}).get("total_order")
    source = {n: v for n, v in payload["source"].items() if n not in ("ts_ms", "ts_us", "ts_ns")}
    if op != "r":
        source.pop("sequence", None)  # Its first number may be unknown after a restart.
    return (
        event.topic,
        event.partition,
        event.key,
        op,
        order,
        json.dumps([source, payload.get("after")]),
    )


def _op(message: Message) -> str | None:
    """The operation; TiCDC's truncates are texts of schema changes."""
    payload = _payload(message)
    is_truncate = str(payload.get("ddl")).startswith("TRUNCATE")
    return payload.get("op") or ("t" if is_truncate and payload["tableChanges"] == [] else None)


def _payload(message: Message) -> dict:
    document = json.loads(message.value or b"{}")
    return document.get("payload", document)
