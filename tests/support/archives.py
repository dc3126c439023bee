"""Topic archives in tests: an independent reader and writer, and the recorded captures.

Nothing here is the project's own code, so that it can judge it.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame

PREFIXES = {"db2": "db2a", "oracle": "ora1", "sqlserver": "ss1", "ticdc": "default"}


@dataclass(frozen=True, order=True)
class Message:
    """One Kafka message; `timestamp_ms` is its timestamp."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int = 1_770_000_000_000
    key: bytes | None = None
    value: bytes | None = b"{}"
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_type: int = 0

    def changed(self, **changes: object) -> Message:
        return replace(self, **changes)


def read_archive(folder: Path) -> list[Message]:
    """All messages of a folder's topics, sorted."""
    found = []
    for path in folder.iterdir():
        if path.name.endswith((".jsonl", ".jsonl.gz")):
            content = path.read_bytes()
            lines = (gzip.decompress(content) if path.suffix == ".gz" else content).split(b"\n")
            found += [_read(json.loads(line)) for line in lines if line]
    return sorted(found, key=_position)


def write_archive(folder: Path, messages: Iterable[Message], *, ending: str = "jsonl") -> Path:
    """Write messages as `<topic>.<ending>`, in the order given."""
    folder.mkdir(parents=True, exist_ok=True)
    by_topic: dict[str, list[bytes]] = {}
    for message in messages:
        by_topic.setdefault(message.topic, []).append(json.dumps(_line(message)).encode() + b"\n")
    for topic, lines in by_topic.items():
        content = b"".join(lines)
        packed = gzip.compress(content) if ending.endswith(".gz") else content
        (folder / f"{topic}.{ending}").write_bytes(packed)
    return folder


def bronze_messages(bronze: DataFrame) -> list[Message]:
    """All messages of a bronze table, sorted."""
    rows = bronze.selectExpr("*", "unix_millis(timestamp) AS timestamp_ms").collect()
    found = [
        Message(
            row["topic"],
            row["partition"],
            row["offset"],
            row["timestamp_ms"],
            None if row["key"] is None else bytes(row["key"]),
            None if row["value"] is None else bytes(row["value"]),
            tuple(
                (header["key"], None if header["value"] is None else bytes(header["value"]))
                for header in row["headers"]
            ),
            row["timestamp_type"],
        )
        for row in rows
    ]
    return sorted(found, key=_position)


def capture_cases(captures: Path) -> list[tuple[str, Path]]:
    """Connector and folder of every recorded archive."""
    return [
        (folder.parent.name, folder)
        for folder in sorted(captures.glob("*/*"))
        if any(folder.glob("*.jsonl*"))
    ]


def capture_source(connector: str, folder: Path) -> str:
    """The TOML file that selects all topics of a recorded archive."""
    prefix = PREFIXES[connector]
    kafka = ["[kafka]"]
    if connector == "ticdc":
        kafka.append('topics = ["ticdc-.*"]')
    if any(folder.glob(f"schemahistory.{prefix}.*")):
        kafka.append(f'schema_history = "schemahistory.{prefix}"')
    return f'connector = "{connector}"\ntopic_prefix = "{prefix}"\n' + "\n".join(kafka)


def _position(message: Message) -> tuple[str, int, int]:
    return message.topic, message.partition, message.offset


def _read(line: dict) -> Message:
    headers = line["headers"] or line.get("headers_b64") or []
    encoded = not line["headers"]
    types = {"CreateTime": 0, "LogAppendTime": 1, "NoTimestampType": -1}
    return Message(
        line["topic"],
        line["partition"],
        line["offset"],
        line["timestamp"],
        _bytes(line, "key"),
        _bytes(line, "value"),
        tuple(
            (name, None if text is None else _header(text, encoded=encoded))
            for name, text in headers
        ),
        types[line.get("timestamp_type", "CreateTime")],
    )


def _bytes(line: dict, name: str) -> bytes | None:
    if line.get(f"{name}_b64") is not None:
        return base64.b64decode(line[f"{name}_b64"])
    return None if line[name] is None else line[name].encode()


def _header(text: str, *, encoded: bool) -> bytes:
    return base64.b64decode(text) if encoded else text.encode()


def _line(message: Message) -> dict:
    line: dict[str, object] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp_ms,
    }
    for name in ("key", "value"):
        content = getattr(message, name)
        try:
            line[name] = None if content is None else content.decode()
        except UnicodeDecodeError:
            line |= {name: None, f"{name}_b64": base64.b64encode(content).decode()}
    line["headers"] = [
        [name, None if value is None else value.decode()] for name, value in message.headers
    ]
    return line
