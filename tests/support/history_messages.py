"""Records of the internal schema history topic, as its serialiser writes them.

Made from payloads of the schema change topic; the shapes are those of `messages.md` §5 and of the
recorded archives, the offsets those that each connector keeps. Nothing here is the project's code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

Json = Mapping[str, object]
CONNECTORS = ("db2", "mariadb", "mysql", "oracle", "sqlserver")
# Members of a column that are left out where they are not set; others are null.
_UNSET = ("nativeType", "length", "scale", "defaultValueExpression")
_OF_MYSQL = ("mariadb", "mysql")


def offset_of(connector: str, number: int, *, snapshot: bool = False) -> Json:
    """The offset that a connector has kept once it has read so far."""
    running = {"snapshot": "INITIAL"} if snapshot else {}
    if connector in _OF_MYSQL:
        at = {"file": "mysql-bin.000003", "pos": 100 + number, "gtids": "0-11-7"}
        return {"ts_sec": 1_770_000_000, "server_id": 223344, **at, **running}
    running = {**running, "snapshot_completed": False} if snapshot else {}
    if connector == "oracle":
        commits = None if snapshot else f"{number}:1:0600140029030000,{number - 1}:2:0a000c00"
        return {"scn": str(number if snapshot else number - 5), "commit_scn": commits, **running}
    change = "NULL" if snapshot else _lsn(connector, 9)
    lsn = {"commit_lsn": _lsn(connector, number), "change_lsn": change}
    return {**lsn, "event_serial_no": 1, **running}


def position_of(connector: str, number: int, *, snapshot: bool = False) -> str:
    """Where an event stands that the connector reads there, as text whose order is the log's."""
    change = 0 if snapshot else 9
    if connector in _OF_MYSQL:
        row = f".{0:010d}" if connector == "mysql" else ""
        return f"{3:010d}.{100 + number:020d}{row}"
    if connector == "oracle":
        return f"{number:038d}.{0:020d}."
    if connector == "db2":
        return f"{number:032x}.{change:032x}"
    return f"{number:020x}.{change:020x}.{0 if snapshot else 1:020d}"


def record(
    connector: str,
    payload: Json,
    number: int,
    *,
    was: Mapping[str, str] | None = None,
    snapshot: bool = False,
) -> Json:
    """A record of the history.

    Args:
        connector: Who writes it.
        payload: What the schema change topic would have of the statement.
        number: Where the connector stands.
        was: New name of a table → the one before.
        snapshot: Whether a source snapshot runs.
    """
    found = {
        "source": {"server": "p"},
        "position": offset_of(connector, number, snapshot=snapshot),
        "ts_ms": 1_770_000_000_000 + number,
    }
    names = ("databaseName", "schemaName", "ddl")
    found |= {name: payload[name] for name in names if payload.get(name) is not None}
    changes = payload["tableChanges"]
    assert isinstance(changes, list)
    return {**found, "tableChanges": [_change(each, was or {}) for each in changes]}


def text_of(document: Json) -> str:
    """As the connector prints it."""
    return json.dumps(document, indent=2)


def _change(change: Json, was: Mapping[str, str]) -> Json:
    head, quote, name = str(change["id"])[:-1].rpartition('"')
    found = {"type": change["type"], "id": change["id"]}
    if name in was:
        found["previousId"] = f'{head}{quote}{was[name]}"'
    table = change["table"]
    if not isinstance(table, Mapping):
        return found
    columns = [_column(each) for each in table["columns"]]
    shown = {"defaultCharsetName": table.get("defaultCharsetName"), "attributes": []}
    keys = {"primaryKeyColumnNames": table["primaryKeyColumnNames"], "columns": columns}
    return {**found, "table": {**shown, **keys}, "comment": None}


def _column(column: Json) -> Json:
    found = {n: value for n, value in column.items() if value is not None or n not in _UNSET}
    return {
        **found,
        "hasDefaultValue": bool(column["optional"]),
        "enumValues": column.get("enumValues") or [],
    }


def _lsn(connector: str, number: int) -> str:
    last = 16 if connector == "db2" else 4
    high, low = divmod(number, 16**last)
    return f"{0:08x}:{high:08x}:{low:0{last}x}"
