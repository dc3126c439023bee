"""Transaction metadata and heartbeats (`messages.md` §4)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tests.property.database import Row
from tests.property.dialects import Dialect
from tests.property.wire import Draft, compact, field, struct

_META = "io.debezium.connector.common."


def transaction_draft(
    dialect: Dialect, status: str, ident: str, counts: Mapping[str, int] | None, at_ms: int
) -> Draft:
    """BEGIN, without counts, or END."""
    collections = counts and [
        {"data_collection": name, "event_count": count} for name, count in sorted(counts.items())
    ]
    payload = {
        "status": status,
        "id": ident,
        "event_count": None if counts is None else sum(counts.values()),
        "data_collections": collections,
        "ts_ms": at_ms,
    }
    key = {"schema": _transaction_schemas()[0], "payload": {"id": ident}}
    value = f'{{"schema":{_transaction_schemas()[1]},"payload":{compact(payload)}}}'
    return Draft(f"{dialect.prefix}.transaction", compact(key), value, partition=0)


def heartbeat_draft(dialect: Dialect) -> Draft:
    key_schema = struct(
        [field("serverName", "string", False)], f"{_META}ServerNameKey", optional=False, version=1
    )
    schema = struct(
        [field("ts_ms", "int64", False)], f"{_META}Heartbeat", optional=False, version=1
    )
    key = compact({"schema": key_schema, "payload": {"serverName": dialect.prefix}})
    head = f'{{"schema":{compact(schema)},"payload":{{'
    topic = f"__debezium-heartbeat.{dialect.prefix}"
    return Draft(topic, key, head, '"ts_ms":{0}', "}}", partition=0)


@cache
def _transaction_schemas() -> tuple[Row, str]:
    counted = [field("data_collection", "string", False), field("event_count", "int64", False)]
    items = struct(counted, "event.collection", optional=True, version=1)
    fields = [
        field("status", "string", False),
        field("id", "string", False),
        field("event_count", "int64", True),
        {"type": "array", "items": items, "optional": True, "field": "data_collections"},
        field("ts_ms", "int64", False),
    ]
    value = struct(fields, f"{_META}TransactionMetadataValue", optional=False, version=1)
    key = struct(fields[1:2], f"{_META}TransactionMetadataKey", optional=False, version=1)
    return key, compact(value)
