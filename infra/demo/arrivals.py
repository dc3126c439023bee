"""What has come out of Kafka of a source's transactions, so that nothing counted is missing.

A producer sends each topic partition's messages in order, but those of different ones overtake
each other: rows with large values may follow the END of their transaction by many requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.envelope import END, INCREMENTAL, READ

Payload = Mapping[str, object]
_LAST_MARKERS = ("last", "last_in_data_collection")


@dataclass(slots=True)
class Arrivals:
    """The accounts of one source: feed it every message of the source's topics, once.

    Attributes:
        ended: Ids of the transactions whose END has come.
    """

    source: SourceConfig
    ended: set[str] = field(default_factory=set)
    # By transaction and data collection; a connector that was killed repeats END and events.
    _counted: dict[tuple[str, str], int] = field(default_factory=dict)
    _come: dict[tuple[str, str], set[object]] = field(default_factory=dict)
    _missing: set[tuple[str, str]] = field(default_factory=set)
    _half_read: set[str] = field(default_factory=set)

    def add(self, topic: str, payload: Payload) -> None:
        """Account for one message."""
        if topic == self.source.kafka.transactions:
            self._add_mark(payload)
        elif payload.get("op") is not None:
            self._add_event(topic, payload)

    @property
    def is_complete(self) -> bool:
        """Whether every event that an END counts is there, and no table is read in part."""
        return not self._half_read and not self._missing

    def transaction_of(self, payload: Payload) -> str | None:
        """The id of an event's transaction, as BEGIN and END compare; None outside of one."""
        block = payload.get("transaction")
        return self._id(block.get("id")) if isinstance(block, Mapping) else None

    def _add_mark(self, payload: Payload) -> None:
        if payload.get("status") != END:
            return
        transaction = self._id(payload.get("id"))
        self.ended.add(transaction)
        collections = payload.get("data_collections")
        for entry in collections if isinstance(collections, list) else []:
            at = (transaction, str(entry["data_collection"]))
            self._counted[at] = int(entry["event_count"])
            self._weigh(at)

    def _add_event(self, topic: str, payload: Payload) -> None:
        block = payload.get("source")
        source = block if isinstance(block, Mapping) else {}
        if payload["op"] == READ and source.get("snapshot") != INCREMENTAL:
            is_last = source.get("snapshot") in _LAST_MARKERS
            (self._half_read.discard if is_last else self._half_read.add)(topic)
        transaction = self.transaction_of(payload)
        if transaction is not None:
            parts = CONNECTORS[self.source.connector].collection_parts
            at = (transaction, ".".join(str(source.get(part)) for part in parts))
            self._come.setdefault(at, set()).add(_order(payload))
            self._weigh(at)

    def _weigh(self, at: tuple[str, str]) -> None:
        lacks = len(self._come.get(at, ())) < self._counted.get(at, 0)
        (self._missing.add if lacks else self._missing.discard)(at)

    def _id(self, text: object) -> str:
        separator = CONNECTORS[self.source.connector].transaction_separator
        return str(text) if separator is None else str(text).partition(separator)[0]


def _order(payload: Payload) -> object:
    block = payload.get("transaction")
    return block.get("total_order") if isinstance(block, Mapping) else None
