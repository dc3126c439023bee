"""JSON of keys and envelopes, with their schemas.

The bytes are those of the captures: JsonConverter with schemas, compact. What a redelivery
changes, the envelope's clocks and the run id of the headers, is filled in when a message is sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from tests.property.database import Row
from tests.property.dialects import DIALECTS, Dialect

_CLOCKS = '"ts_ms":{0},"ts_us":{0}000,"ts_ns":{0}000000'
_ALLOWED = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
_BLOCK = (("id", "string", False), ("total_order", "int64", False))


@dataclass(frozen=True, slots=True)
class Draft:
    """A message before it is sent: the clock stands between head and tail; no head: tombstone."""

    topic: str
    key: str | None
    head: str | None = None
    clock: str = ""
    tail: str = ""
    headers: tuple[tuple[str, str], ...] | None = None  # None: not even the context headers.
    null_commit: str | None = None  # The head in the first transaction after a start.
    partition: int | None = None  # None: by the key's hash.

    def value(self, now_ms: int, *, first: bool) -> bytes | None:
        """The value's bytes at a moment."""
        head = self.null_commit if first and self.null_commit else self.head
        return None if head is None else f"{head}{self.clock.format(now_ms)}{self.tail}".encode()


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def field(name: str, kind: str, optional: bool) -> dict[str, object]:  # noqa: FBT001 - a triple
    return {"type": kind, "optional": optional, "field": name}


def struct(fields: Sequence[object], name: str, *, optional: bool, **more: object) -> Row:
    return {"type": "struct", "fields": fields, "optional": optional, "name": name, **more}


@cache
def columns(connector: str, *, noted: bool) -> list[dict[str, object]]:
    """The schema fields of a row; `noted` after the column was added."""
    dialect = DIALECTS[connector]
    kinds = [("v", "string"), ("n", "int32"), ("big", "string"), *([("note", "string")] * noted)]
    rest = [field(dialect.name(name), kind, True) for name, kind in kinds]
    return [field(dialect.name("id"), dialect.key, False), *rest]


def key_document(dialect: Dialect, schema: Row, payload: Row) -> str:
    """A key with its schema; TiCDC writes the payload first."""
    if dialect.metadata:
        return compact({"schema": schema, "payload": payload})
    return compact({"payload": payload, "schema": schema})


@cache
def key_text(connector: str, table: int, key: object) -> str:
    dialect = DIALECTS[connector]
    name = f"{_schema_name(dialect, table)}.Key"
    schema = struct(columns(connector, noted=False)[:1], name, optional=False)
    return key_document(dialect, schema, {dialect.name("id"): key})


@cache
def envelope_schema(connector: str, table: int, *, noted: bool) -> str:
    dialect = DIALECTS[connector]
    name = _schema_name(dialect, table)
    images = [
        struct(columns(connector, noted=noted), f"{name}.Value", optional=True, field=image)
        for image in ("before", "after")
    ]
    clocks = [field(clock, "int64", True) for clock in ("ts_ms", "ts_us", "ts_ns")]
    block = struct(
        [field(*part) for part in (*_BLOCK, ("data_collection_order", "int64", False))],
        "event.block",
        optional=True,
        version=1,
        field="transaction",
    )
    fields = [*images, source_schema(connector), block, field("op", "string", False), *clocks]
    if not dialect.metadata:
        fields = [*images, source_schema(connector), field("op", "string", False), clocks[0], block]
    version = 2 if dialect.metadata else 1
    return compact(struct(fields, f"{name}.Envelope", optional=False, version=version))


@cache
def source_schema(connector: str) -> Row:
    """The schema of the source block. TiCDC's has no commit_ts, as without its extension."""
    dialect = DIALECTS[connector]
    fields = [field(*part) for part in dialect.source]
    fields[4] = {
        "type": "string",
        "optional": True,
        "name": "io.debezium.data.Enum",
        "version": 1,
        "parameters": {"allowed": _ALLOWED if dialect.metadata else "true,last,false,incremental"},
        "default": "false",
        "field": "snapshot",
    }
    family = connector if dialect.metadata else "mysql"
    name = f"io.debezium.connector.{family}.Source"
    version = {"version": 1} if dialect.metadata else {}
    return struct(fields, name, optional=False, **version, field="source")


def source_block(
    dialect: Dialect, table: int, at_ms: int, marker: str | None, fields: Mapping[str, object]
) -> Row:
    db, schema, name = dialect.identity(table)
    block: Row = {
        "version": dialect.version,
        "connector": dialect.label or dialect.connector,
        "name": dialect.prefix,
        "ts_ms": at_ms,
        "snapshot": marker,
        "db": db,
    }
    if dialect.metadata:
        block |= {"sequence": fields.get("sequence"), "ts_us": at_ms * 1000}
        block["ts_ns"] = at_ms * 1_000_000
    if schema is not None:
        block["schema"] = schema
    return block | {"table": name} | {n: v for n, v in fields.items() if n != "sequence"}


def event_parts(
    dialect: Dialect, schema: str, images: Row, source: Row, block: Row | None, op: str
) -> tuple[str, str, str]:
    """Head, clock and tail of an envelope; TiCDC writes payload before schema, images last."""
    if not dialect.metadata:
        middle = compact({"transaction": None, "op": op} | images)[1:]
        tail = f',{middle},"schema":{schema}}}'
        return f'{{"payload":{{"source":{compact(source)},', '"ts_ms":{0}', tail
    payload = compact(images | {"source": source, "transaction": block, "op": op})[:-1]
    return f'{{"schema":{schema},"payload":{payload},', _CLOCKS, "}}"


def _schema_name(dialect: Dialect, table: int) -> str:
    if dialect.metadata:
        return dialect.topic(table)
    return f"{dialect.prefix}.{dialect.db}.{dialect.identity(table)[2]}"
