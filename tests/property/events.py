"""Change events of one source: transactions and read events, as drafts of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.property.control import transaction_draft
from tests.property.database import Change, Row, State, Transaction
from tests.property.ddl import schema_change_drafts
from tests.property.dialects import Dialect
from tests.property.logs import Fields, Placed
from tests.property.wire import (
    Draft,
    compact,
    envelope_schema,
    event_parts,
    key_text,
    source_block,
)

UNAVAILABLE = "__debezium_unavailable_value"
START_MS = 1_770_000_001_000
Part = tuple[str, Row | None, Row | None]  # Op, before, after.


@dataclass(frozen=True, slots=True)
class Source:
    """A source's settings: `full` is REPLICA IDENTITY FULL, or TiCDC's old values.

    `metadata` is whether it sends transaction metadata.
    """

    dialect: Dialect
    partitions: int
    full: bool
    metadata: bool

    def data(self, transaction: Transaction, placed: Placed, number: int) -> list[list[Draft]]:
        """The drafts of each change, between BEGIN and END."""
        totals: Counter[str] = Counter()
        found = []
        for index, change in enumerate(transaction.changes):
            drafts: list[Draft] = []
            for op, before, after in self._parts(change):
                totals["all"] += 1
                totals[self.dialect.collection(change.table)] += 1
                block = {
                    "id": placed.ids[index],
                    "total_order": totals["all"],
                    "data_collection_order": totals[self.dialect.collection(change.table)],
                }
                event = change, op, before, after
                framed = self.metadata and not transaction.ddl
                at_ms = START_MS + 100 * number
                drafts += self._event(
                    event, transaction, placed.fields[index], block if framed else None, at_ms
                )
            found.append(drafts)
        return found

    def bounds(self, transaction: Transaction, placed: Placed, number: int) -> tuple[Draft, Draft]:
        """BEGIN and END of a transaction."""
        counts: Counter[str] = Counter()
        for change in transaction.changes:
            counts[self.dialect.collection(change.table)] += 2 if change.kind == "k" else 1
        at_ms = START_MS + 100 * number
        begin = transaction_draft(self.dialect, "BEGIN", placed.begin, None, at_ms)
        return begin, transaction_draft(self.dialect, "END", placed.end, counts, at_ms)

    def read(
        self, table: int, row: Row, marker: str, fields: Mapping[str, object], *, noted: bool
    ) -> Draft:
        """A read event of a source snapshot."""
        source = source_block(self.dialect, table, START_MS, marker, fields)
        schema = envelope_schema(self.dialect.connector, table, noted=noted)
        images: Row = {"before": None, "after": self._image(row, noted=noted)}
        parts = event_parts(self.dialect, schema, images, source, None, "r")
        key = key_text(self.dialect.connector, table, row["id"])
        return Draft(self.dialect.topic(table), key, *parts, headers=())

    def tables(self, noted: tuple[bool, ...], fields: Fields) -> Iterator[Draft]:
        """The tables' schemas, at the start of a source snapshot."""
        if self.dialect.ddl:
            for table, has_note in enumerate(noted):
                yield from self.schema_change("CREATE", table, "true", fields, noted=has_note)

    def snapshot(self, state: State, noted: tuple[bool, ...], fields: Fields) -> Iterator[Draft]:
        """The tables' rows as they stand, with their markers."""
        rows = [(table, row) for table, found in enumerate(state) for row in found.values()]
        for index, (table, row) in enumerate(rows):
            before = index > 0 and rows[index - 1][0] == table
            after = index + 1 < len(rows) and rows[index + 1][0] == table
            marker = "true" if before else "first_in_data_collection"
            if not after:
                marker = "last_in_data_collection"
            if index == 0 and after:
                marker = "first"
            if index + 1 == len(rows):
                marker = "last"
            yield self.read(table, row, marker, fields, noted=noted[table])

    def schema_change(
        self, kind: str, table: int, marker: str | None, fields: Fields, *, noted: bool
    ) -> list[Draft]:
        """A schema change message, where the connector sends any."""
        source = START_MS, marker, fields
        return schema_change_drafts(
            self.dialect, kind, table, source, noted=noted, partitions=self.partitions
        )

    def _parts(self, change: Change) -> list[Part]:
        before, after = change.before, change.after
        kept = before and after and before["big"] == after["big"]
        large = self.dialect.large == "lob" or str(before and before["big"]).startswith("L")
        if kept and self.dialect.large and large and not self._whole:
            after = (after or {}) | {"big": UNAVAILABLE}
        if change.kind == "k":
            return [("d", before, None), ("c", None, after)]
        return [(change.kind, before, after)]

    @property
    def _whole(self) -> bool:
        """Images are complete; Oracle's never are."""
        return self.full and self.dialect.large != "lob"

    def _event(
        self,
        event: tuple[Change, str, Row | None, Row | None],
        transaction: Transaction,
        fields: Fields,
        block: Row | None,
        at_ms: int,
    ) -> Iterator[Draft]:
        change, op, before, after = event
        dialect, noted = self.dialect, transaction.noted[change.table]
        if op == "t" and dialect.truncate == "text":
            yield from self.schema_change(
                "TRUNCATE", change.table, dialect.marker, fields, noted=noted
            )
            return
        source = source_block(dialect, change.table, at_ms, dialect.marker, fields)
        schema = envelope_schema(dialect.connector, change.table, noted=noted)
        images = self._images(op, before, after, noted=noted)
        parts = event_parts(dialect, schema, images, source, block, op)
        row, topic = after or before, dialect.topic(change.table)
        key = key_text(dialect.connector, change.table, row["id"]) if row else None
        headers = self._headers(change, op)
        unknown = _without_commit(parts[0], fields) if "lsn" in fields else None
        partition = None if key else at_ms // 100 % self.partitions
        yield Draft(topic, key, *parts, headers, unknown, partition)
        if op == "d" and dialect.metadata:
            yield Draft(topic, key, headers=headers)

    def _images(self, op: str, before: Row | None, after: Row | None, *, noted: bool) -> Row:
        images: Row = {"before": self._old(op, before, noted=noted)}
        images["after"] = after and self._image(after, noted=noted)
        if not self.dialect.metadata and op == "d":
            return dict(reversed(images.items()))  # The order of TiCDC's own bytes.
        if not self.dialect.metadata and op == "u" and not self.full:
            del images["before"]
        return images

    def _headers(self, change: Change, op: str) -> tuple[tuple[str, str], ...] | None:
        if not self.dialect.metadata:
            return None
        other = change.after if op == "d" else change.before
        if change.kind != "k" or other is None:
            return ()
        text = key_text(self.dialect.connector, change.table, other["id"])
        return (("__debezium.newkey" if op == "d" else "__debezium.oldkey", text),)

    def _image(self, row: Row, *, noted: bool) -> Row:
        names = ("id", "v", "n", "big", "note")[: 5 if noted else 4]
        return {self.dialect.name(name): row.get(name) for name in names}

    def _old(self, op: str, row: Row | None, *, noted: bool) -> Row | None:
        """The before image: without its LOB, or only the key where PostgreSQL knows no more."""
        if row is None:
            return None
        if self.dialect.large == "lob":
            row = row | {"big": UNAVAILABLE}
        elif self.dialect.large and not self.full:
            if op == "u":
                return None
            row = {"id": row["id"]}
        return self._image(row, noted=noted)


def _without_commit(head: str, fields: Fields) -> str:
    """The same event where the connector does not know the last commit yet."""
    known = f'"sequence":{compact(fields["sequence"])}'
    unknown = compact([None, str(fields["lsn"])])
    return head.replace(known, f'"sequence":{compact(unknown)}', 1)
