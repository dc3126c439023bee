"""The position of one change event, from its text: what Spark does for rows, for a single message.

In: the value of a message, and the connector's position fields. Out: text of fixed width as in
`_cdc.position`, for a person to compare; nothing is ordered by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from lakehouse.connectors import Codec, Connector, PositionField

_SEPARATOR, _LOG_END = ".", "|"
_DIGITS = re.compile(r"[0-9]{1,40}")
_HEX = re.compile(r"[0-9A-Fa-f]+(:[0-9A-Fa-f]+)*")


def event_position(value: bytes | None, connector: Connector) -> str:
    """The position of an event; empty where the message has none that is whole."""
    block = _source_block(value)
    if block is None:
        return ""
    parts = [_part(block, field) for field in connector.position]
    return "" if None in parts else _SEPARATOR.join(part or "" for part in parts)


def shown_position(position: str) -> str:
    """A position without the zeros of its fixed width, and without the log before it."""
    parts = position.rpartition(_LOG_END)[2].split(_SEPARATOR)
    return _SEPARATOR.join(part.lstrip("0") or part[-1:] for part in parts)


def _source_block(value: bytes | None) -> Mapping[str, object] | None:
    try:
        found = json.loads(value or b"null")
    except ValueError:
        return None
    if isinstance(found, dict) and isinstance(found.get("payload"), dict):
        found = found["payload"]
    block = found.get("source") if isinstance(found, dict) else None
    return block if isinstance(block, dict) else None


def _part(block: Mapping[str, object], field: PositionField) -> str | None:
    """A field at its width; None where it is missing or no number."""
    given = [block.get(path) for path in field.paths]
    found = [_fixed(_number(value, field.codec), field) for value in given if value is not None]
    if None in found or (len(found) < len(given) and not field.optional):
        return None
    return max((text for text in found if text), default="0" * field.width)


def _fixed(digits: str | None, field: PositionField) -> str | None:
    if digits is None or field.codec is Codec.HEX_TEXT:
        return digits
    if field.codec is Codec.HEX:
        return digits if len(digits) == field.width else None
    return digits.zfill(field.width) if len(digits) <= field.width else None


def _number(value: object, codec: Codec) -> str | None:
    """What a codec makes of a field's value."""
    text = value if isinstance(value, str) else json.dumps(value)
    match codec:
        case Codec.HEX | Codec.HEX_TEXT:
            return text.replace(":", "").lower() if _HEX.fullmatch(text) else None
        case Codec.PAIR_FIRST | Codec.PAIR_SECOND:
            text = _of_pair(text, 0 if codec is Codec.PAIR_FIRST else 1)
        case Codec.NUMBERED_FILE:
            text = text.rpartition(".")[2]
        case Codec.INTEGER:
            pass
    return text if _DIGITS.fullmatch(text) else None


def _of_pair(text: str, index: int) -> str:
    try:
        pair = json.loads(text)
    except ValueError:
        return ""
    return str(pair[index]) if isinstance(pair, list) and len(pair) > index else ""
