"""Schema change events of a MySQL source `shop`, as its topic has them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.schemas.ddl import SchemaEvent, SchemaMessage, parse_event


def column(name: str, kind: str = "INT", **more: object) -> dict[str, object]:
    return {
        "name": name,
        "typeName": kind,
        "typeExpression": kind,
        "charsetName": None,
        "length": None,
        "scale": None,
        "optional": True,
        "comment": None,
        "defaultValueExpression": None,
        "enumValues": None,
        **more,
    }


def change(
    kind: str,
    *columns: dict[str, object],
    key: tuple[str, ...] = ("id",),
    table: str = "orders",
) -> dict[str, object]:
    placed = [{"position": place} | each for place, each in enumerate(columns, 1)]
    shape = {"primaryKeyColumnNames": list(key), "columns": placed} if columns else None
    return {"type": kind, "id": f'"shop"."{table}"', "table": shape}


def event(
    offset: int, *changes: dict[str, object], ddl: str = "ALTER TABLE orders …", **more: object
) -> SchemaEvent:
    document = {"source": {}, "ddl": ddl, "tableChanges": list(changes)}
    message = SchemaMessage("shop", 0, offset, f"{offset:010d}", json.dumps(document))
    fields = {name: getattr(message, name) for name in SchemaMessage.__dataclass_fields__}
    return parse_event(SchemaMessage(**{**fields, **more}), "mysql")


def data_row(*columns: tuple[str, str], table: str = "orders") -> SchemaVersionRow:
    """A version that data events carry, of (column, semantic type)."""
    listed = ", ".join(
        f'{{"name": "{name}", "type": "date", "optional": true, "default": null, "key": false, '
        f'"semantic": "{semantic}", "doc": "", "wire": "int32", "source_type": ""}}'
        for name, semantic in columns
    )
    return SchemaVersionRow(
        source="shop",
        run_id="run",
        table=f"shop__{table}",
        identity=json.dumps(["shop", None, table]),
        fingerprint="7",
        topic="shop.shop.orders",
        partition=0,
        offset=0,
        position="",
        ddl="",
        change_kinds=("create_table",),
        columns=f"[{listed}]",
        verdict="evolve",
        decision="policy",
        reason="",
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
        previous="",
    )
