"""One line of a topic archive: a JSON object that is one message.

`key` and `value` are text or null; `key_b64` and `value_b64` hold bytes that are not UTF-8, and
`headers_b64` is `[[name, base64 | null], …]` in place of `headers` for the same reason.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

MEMBERS = (
    "topic",
    "partition",
    "offset",
    "timestamp",
    "timestamp_type",
    "key",
    "key_b64",
    "value",
    "value_b64",
    "headers",
    "headers_b64",
)

# Kafka's TimestampType: names, and the numbers that Spark has for them.
TIMESTAMP_TYPES: Mapping[str, int] = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}

MAX_PARTITION = 2**31 - 1
MAX_OFFSET = 2**63 - 1
# Spark keeps microseconds in 64 bits.
MAX_TIMESTAMP_MS = (2**63 - 1) // 1000


def line_fault(line: bytes, topic: str) -> str | None:
    """Why a line is no message of the topic: what it has and what was expected; None if it is.

    Args:
        line: The line without its end.
        topic: The topic that the file is named after.
    """
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as broken:
        return f"byte {line[broken.start]:#04x} at {broken.start}: expected UTF-8"
    try:
        message = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as broken:
        return f"not JSON ({broken}): expected one JSON object"
    if not isinstance(message, dict):
        return f"{_shown(message)}: expected a JSON object"
    return _member_fault(message, topic)


def _member_fault(message: Mapping[str, object], topic: str) -> str | None:
    unknown = sorted(message.keys() - set(MEMBERS))
    if unknown:
        return f"unknown member {unknown[0]!r}: expected only {', '.join(MEMBERS)}"
    if message.get("topic") != topic:
        return f"topic {_shown(message.get('topic'))}: expected {topic!r}, as the file is named"
    return (
        _number_fault(message, "partition", 0, MAX_PARTITION)
        or _number_fault(message, "offset", 0, MAX_OFFSET)
        or _number_fault(message, "timestamp", -1, MAX_TIMESTAMP_MS)
        or _timestamp_type_fault(message)
        or _bytes_fault(message, "key")
        or _bytes_fault(message, "value")
        or _headers_fault(message)
    )


def _number_fault(message: Mapping[str, object], name: str, low: int, high: int) -> str | None:
    value = message.get(name)
    if type(value) is int and low <= value <= high:
        return None
    return f"{name} {_shown(value)}: expected a whole number from {low} to {high}"


def _timestamp_type_fault(message: Mapping[str, object]) -> str | None:
    if "timestamp_type" not in message:
        return None
    value = message["timestamp_type"]
    known = TIMESTAMP_TYPES if isinstance(value, str) else TIMESTAMP_TYPES.values()
    if type(value) in (str, int) and value in known:
        return None
    return f"timestamp_type {_shown(value)}: expected one of {', '.join(TIMESTAMP_TYPES)}"


def _bytes_fault(message: Mapping[str, object], name: str) -> str | None:
    """A key or value is text, null, or Base64 under its other name; a missing one is a fault."""
    text, encoded = message.get(name), message.get(f"{name}_b64")
    if name not in message and f"{name}_b64" not in message:
        return f"no {name}: expected {name} (text or null) or {name}_b64"
    if text is not None and encoded is not None:
        return f"{name} and {name}_b64: expected one of them"
    if encoded is not None:
        return None if _is_base64(encoded) else f"{name}_b64 {_shown(encoded)}: expected Base64"
    if text is not None and not _is_text(text):
        return f"{name} {_shown(text)}: expected text that UTF-8 can hold, or null"
    return None


def _headers_fault(message: Mapping[str, object]) -> str | None:
    text, encoded = message.get("headers"), message.get("headers_b64")
    if text is None and encoded is None:
        return "no headers: expected a list [[name, text], …]"
    if text and encoded:
        return "headers and headers_b64: expected one of them"
    for found, check in ((text, _is_text), (encoded, _is_base64)):
        for header in found if isinstance(found, list) else () if found is None else (found,):
            if not isinstance(header, list) or len(header) != 2 or not _is_text(header[0]):
                return f"header {_shown(header)}: expected [name, text]"
            if header[1] is not None and not check(header[1]):
                return f"header {_shown(header)}: expected [name, text]"
    return None


def _is_text(value: object) -> bool:
    """Whether the value is text that UTF-8 can hold: a lone surrogate is not."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_base64(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode() == value
    except (binascii.Error, ValueError):
        return False


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
