"""Recorded captures: the rows that a correct apply ends with, and how silver stores them.

`../shared/captures/FORMAT.md` says how values are written. Nothing here is the project's own code.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from tests.support.archives import capture_source

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a timestamp without zone
_UNITS = {"milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}
# A source's types for those of the captures, where its messages carry no schema.
_DECLARED = {"int": "int", "long": "bigint", "double": "double", "float": "float"}

Value = object
Rows = list[dict[str, Value]]


@dataclass(frozen=True)
class Capture:
    """One recorded archive and what it must end in."""

    connector: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.connector}_{self.folder.name}"

    @property
    def expected(self) -> dict:
        return json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))

    @property
    def toml(self) -> str:
        """The TOML file for the archive; what schema-less messages hide is declared."""
        text = capture_source(self.connector, self.folder) + "\n"
        if self.expected["settings"].get("schemas_enable", True):
            return text
        for identity, table in self.expected["tables"].items():
            parts = identity.split(".")
            key = ".".join(parts if self.connector == "sqlserver" else parts[-2:])
            text += f'[tables."{key}".columns]\n'
            for column, kind in table["columns"].items():
                declared = _DECLARED.get(kind, kind)
                if declared != "string":
                    text += f'{column} = {{ type = "{declared}" }}\n'
        return text


def identity_of(text: str, table: Mapping[str, object]) -> tuple[str, ...]:
    """The parts of a table's name in expected.json: two for TiCDC, three else."""
    source = table.get("source")
    if isinstance(source, Mapping):
        return (str(source["db"]), str(source["table"]))
    parts = text.split(".")
    # No schema has a dot; a table may.
    return tuple(parts) if len(parts) == 2 else (parts[0], parts[1], ".".join(parts[2:]))


def expected_rows(table: Mapping[str, object]) -> Rows:
    """The rows of expected.json in canonical form."""
    columns = table["columns"]
    rows = [
        {name: _expected(row[name], kind) for name, kind in columns.items()}
        for row in table["rows"]
    ]
    return sorted(rows, key=repr)


def stored_rows(found: pa.Table, docs: Mapping[str, str], table: Mapping[str, object]) -> Rows:
    """The rows of a silver table in the same form.

    Args:
        found: Its columns.
        docs: Column → comment, which tells the unit of a number.
        table: Its entry in expected.json.
    """
    columns = table["columns"]
    rows = [
        {name: _stored(row[name], kind, docs.get(name, "")) for name, kind in columns.items()}
        for row in found.to_pylist()
    ]
    return sorted(rows, key=repr)


def _expected(value: object, kind: str) -> Value:
    if value is None:
        return None
    if isinstance(value, dict):
        text, count = value["$repeat"]
        value = text * count
    base = re.split(r"[ (]", kind)[0]
    if "VariableScaleDecimal" in kind or base == "decimal":
        return _decimal(str(value), kind)
    if base == "float":
        return _float32(float(value))
    if base.startswith("timestamp") and isinstance(value, str):
        return _nanos(value, zoned=base.startswith("timestamptz"))
    if base.startswith("time") and isinstance(value, str):
        return _time_nanos(value)
    return value


def _stored(value: object, kind: str, doc: str) -> Value:
    if value is None:
        return None
    base = re.split(r"[ (]", kind)[0]
    if "VariableScaleDecimal" in kind or base == "decimal":
        return _decimal(str(value), kind)
    if base.startswith("time"):
        return _stored_time(value, base, doc)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date):
        return value.isoformat()
    return _float32(value) if base == "float" and isinstance(value, float) else value


def _stored_time(value: object, base: str, doc: str) -> int:
    if isinstance(value, datetime):
        moment = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    if isinstance(value, int):
        return value * next(factor for unit, factor in _UNITS.items() if unit in doc)
    assert isinstance(value, str)
    return _nanos(value, zoned=base.startswith("timestamptz"))


def _decimal(text: str, kind: str) -> str:
    """With its scale where the type says one, else without zeros at the end."""
    number = Decimal(text)
    return str(number) if re.match(r"decimal\(", kind) else f"{number.normalize():f}"


def _float32(value: float) -> float:
    return struct.unpack("f", struct.pack("f", value))[0]


def _nanos(text: str, *, zoned: bool) -> int:
    """Nanoseconds since the epoch of an ISO text, however many digits it has."""
    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?", text)
    assert found, text
    assert bool(found[3]) == zoned, text
    moment = datetime.fromisoformat(found[1] + (found[3] or "").replace("Z", "+00:00"))
    if moment.tzinfo:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    fraction = int((found[2] or ".0")[1:].ljust(9, "0"))
    return (moment - _EPOCH) // timedelta(seconds=1) * 10**9 + fraction


def _time_nanos(text: str) -> int:
    whole, _, fraction = text.partition(".")
    moment = time.fromisoformat(whole)
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    return seconds * 10**9 + int(fraction.ljust(9, "0"))
