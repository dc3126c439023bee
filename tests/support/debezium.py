"""Change events as Debezium's PostgreSQL connector writes them, for tests of apply.

The shapes follow `messages.md` §2 (envelope with schema); nothing here is imported by the product.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Row = Mapping[str, object]
# Stands for a large value that did not change (`unavailable.value.placeholder`).
PLACEHOLDER = "__debezium_unavailable_value"
# The first number of `source.sequence`, whose text is JSON inside JSON.
_LOGICAL_MESSAGES = "io.debezium.connector.postgresql.connection.LogicalDecodingMessageId@8f4dd46"
_WITHOUT_COMMIT = re.compile(r'"sequence":"\[\\"\d+\\",')
_SOURCE_FIELDS = [
    "version",
    "connector",
    "name",
    "ts_ms",
    "snapshot",
    "db",
    "sequence",
    "ts_us",
    "ts_ns",
    "schema",
    "table",
    "txId",
    "lsn",
    "xmin",
    "scn",
    "commit_scn",
    "txSeq",
]


def column(
    field_name: str, kind: str, *, optional: bool = True, **more: object
) -> dict[str, object]:
    """A field of a row's schema."""
    return {"type": kind, "optional": optional, "field": field_name, **more}


@dataclass
class Table:
    """A source table whose schema can change."""

    name: str
    columns: list[dict[str, object]]
    key: Sequence[str] = ("id",)


@dataclass
class Postgres:
    """Writes the topics of one connector: commit order, offsets, transactions."""

    prefix: str = "pg"
    partitions: int = 1
    framed: bool = True  # It sends transaction metadata.
    lsn: int = 1000
    step: int = 10  # Between the changes of a transaction; the rows of one COPY share a number.
    last_commit: int | None = None
    transaction: int = 700
    clock_ms: int = 1_700_000_000_000
    messages: list[dict[str, object]] = field(default_factory=list)
    _offsets: dict[tuple[str, int], int] = field(default_factory=dict)

    def snapshot(
        self, table: Table, rows: Sequence[Row], *, begin: bool = True, end: bool = True
    ) -> None:
        """Read events of a source snapshot, at the start or ad hoc while the stream waits.

        Without an `end` it was interrupted, or goes on in a call that does not `begin` one.
        """
        for index, row in enumerate(rows):
            is_last = end and index == len(rows) - 1
            first = "true" if index or not begin else "first_in_data_collection"
            marker = "last_in_data_collection" if is_last else first
            source = self._source(table, marker, [None, str(self.lsn)])
            self._send(table, "r", None, row, source, None)

    def read_increment(self, table: Table, *rows: Row) -> None:
        """A chunk of an incremental snapshot behind the newest transaction."""
        sequence = [self.last_commit and str(self.last_commit), str(self.lsn)]
        source = self._source(table, "incremental", sequence)
        for row in rows:
            self._send(table, "r", None, row, source | {"txId": None, "lsn": None}, None)

    def transact(
        self, *changes: tuple[Table, str, Row | None, Row | None], end: bool = True
    ) -> None:
        """One transaction: (table, op, before, after) in order; a key change is d and c."""
        self.transaction += 1
        ident = f"{self.transaction}:{self.lsn}"
        if self.framed:
            self._mark("BEGIN", ident, None)
        counts: dict[str, int] = {}
        total = 0
        for table, op, before, after in changes:
            self.lsn += self.step
            parts = _split(table, op, before, after)
            for part, old, new in parts:
                total += 1
                collection = f"public.{table.name}"
                counts[collection] = counts.get(collection, 0) + 1
                block = {
                    "id": f"{self.transaction}:{self.lsn}",
                    "total_order": total,
                    "data_collection_order": counts[collection],
                }
                source = self._source(
                    table, None, [self.last_commit and str(self.last_commit), str(self.lsn)]
                )
                headers = _headers(table, part, before, after) if len(parts) > 1 else []
                framed = block if self.framed else None
                self._send(table, part, old, new, source, framed, headers=headers)
        self.lsn += 10
        self.last_commit = self.lsn
        if end and self.framed:
            self._mark("END", f"{self.transaction}:{self.lsn}", counts)

    def finish(self, collection: str, count: int, messages: int = 0) -> None:
        """The END of a transaction that was left open, with logical messages beside its events."""
        others = {_LOGICAL_MESSAGES: messages} if messages else {}
        self._mark("END", f"{self.transaction}:{self.lsn}", {collection: count, **others})

    def mark(self) -> int:
        """A place in what was sent, for `redeliver`."""
        return len(self.messages)

    def redeliver(self, start: int, end: int | None = None, *, first_without_commit: bool) -> None:
        """Send change events and tombstones from a place on again, as a restart of a connector."""
        sent = self.messages[start:end]
        events = [m for m in sent if m["value"] is None or "payload" in str(m["value"])]
        for message in [m for m in events if not str(m["topic"]).endswith(".transaction")]:
            value = None if message["value"] is None else str(message["value"])
            if first_without_commit and value is not None:
                value = _WITHOUT_COMMIT.sub(r'"sequence":"[null,', value)
            key = message["key"]
            text = None if key is None else str(key)
            self._append(str(message["topic"]), 0, text, value, message["headers"])

    def send_raw(self, topic: str, key: str | None, value: str | None) -> None:
        """A message as it is, readable or not."""
        self._append(topic, 0, key, value)

    def archive(self, folder: Path) -> Path:
        """Write everything that was sent as a topic archive."""
        folder.mkdir(parents=True, exist_ok=True)
        for topic in {str(message["topic"]) for message in self.messages}:
            lines = [json.dumps(m) for m in self.messages if m["topic"] == topic]
            (folder / f"{topic}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder

    def _source(self, table: Table, marker: str | None, sequence: list[str | None]) -> Row:
        return {
            "version": "3.6.1.Final",
            "connector": "postgresql",
            "name": self.prefix,
            "ts_ms": self.clock_ms,
            "snapshot": marker,
            "db": "app",
            "sequence": json.dumps(sequence),
            "schema": "public",
            "table": table.name,
            "txId": self.transaction,
            "lsn": self.lsn,
            "xmin": None,
        }

    def _send(
        self,
        table: Table,
        op: str,
        before: Row | None,
        after: Row | None,
        source: Row,
        transaction: Row | None,
        *,
        headers: Sequence[Sequence[str]] = (),
    ) -> None:
        image = after if after is not None else before
        key = (
            None
            if op == "t" or not table.key
            else {name: (image or {})[name] for name in table.key}
        )
        payload = {
            "before": before,
            "after": after,
            "source": source,
            "transaction": transaction,
            "op": op,
            "ts_ms": self.clock_ms,
        }
        topic = _sanitised(f"{self.prefix}.public.{table.name}")
        partition = 0 if key is None else sum(map(ord, json.dumps(key))) % self.partitions
        value = {"schema": _envelope_schema(self.prefix, table), "payload": payload}
        self._append(topic, partition, _key_text(table, key), _compact(value), headers)
        if op == "d":
            self._append(topic, partition, _key_text(table, key), None, headers)

    def _mark(self, status: str, ident: str, counts: Mapping[str, int] | None) -> None:
        payload = {
            "status": status,
            "id": ident,
            "event_count": None if counts is None else sum(counts.values()),
            "data_collections": None
            if counts is None
            else [{"data_collection": n, "event_count": c} for n, c in counts.items()],
            "ts_ms": self.clock_ms,
        }
        value = {"schema": {"type": "struct", "fields": []}, "payload": payload}
        key = {"schema": {"type": "struct", "fields": []}, "payload": {"id": ident}}
        self._append(f"{self.prefix}.transaction", 0, _compact(key), _compact(value))

    def _append(
        self,
        topic: str,
        partition: int,
        key: str | None,
        value: str | None,
        headers: Sequence[Sequence[str]] = (),
    ) -> None:
        place = (topic, partition)
        offset = self._offsets.get(place, 0)
        self._offsets[place] = offset + 1
        self.clock_ms += 1
        self.messages.append(
            {
                "topic": topic,
                "partition": partition,
                "offset": offset,
                "timestamp": self.clock_ms,
                "key": key,
                "value": value,
                "headers": list(headers),
            }
        )


def _sanitised(topic: str) -> str:
    """The name as Debezium gives it to Kafka: a character of two UTF-16 units becomes two `_`."""
    return re.sub(r"[^\w.-]", lambda c: "_" * (1 + (ord(c[0]) > 0xFFFF)), topic, flags=re.ASCII)


def _split(
    table: Table, op: str, before: Row | None, after: Row | None
) -> list[tuple[str, Row | None, Row | None]]:
    if op == "u" and before and after and any(before[k] != after[k] for k in table.key):
        return [("d", before, None), ("c", None, after)]
    return [(op, before, after)]


def _headers(table: Table, op: str, before: Row | None, after: Row | None) -> list[list[str]]:
    """What the delete event says of the new key, and the create event of the old one."""
    name, row = ("newkey", after) if op == "d" else ("oldkey", before)
    return [[f"__debezium.{name}", _compact({key: (row or {})[key] for key in table.key})]]


def _key_text(table: Table, key: Row | None) -> str | None:
    if key is None:
        return None
    fields = [c for c in table.columns if c["field"] in table.key]
    return _compact({"schema": {"type": "struct", "fields": fields}, "payload": key})


def _envelope_schema(prefix: str, table: Table) -> Row:
    rows = [
        {"type": "struct", "fields": table.columns, "optional": True, "field": image}
        for image in ("before", "after")
    ]
    source = {
        "type": "struct",
        "fields": [{"type": "string", "optional": True, "field": n} for n in _SOURCE_FIELDS],
        "field": "source",
    }
    name = f"{prefix}.public.{table.name}.Envelope"
    return {"type": "struct", "fields": [*rows, source], "name": name, "optional": False}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
