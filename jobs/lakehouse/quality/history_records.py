"""Records of the connector's internal schema history topic.

In: messages, which have no key and leave out members that are null. Out: schema change events with
the position of their offset. Who writes the topic is the connector alone.
https://debezium.io/documentation/reference/stable/connectors/mysql.html ("Schema history topic")
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from lakehouse.connectors import CONNECTORS, Codec, Connector
from lakehouse.quality import ddl

_MEMBERS = ("source", "position")


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the schema history topic; `document` is its text, None for no text."""

    topic: str
    partition: int
    offset: int
    keyed: bool
    document: str | None


def parse_record(message: HistoryMessage, connector: str) -> ddl.SchemaEvent:
    """Read one record; what cannot be read is an event with a problem, never an error."""
    of_topic = ddl.SchemaMessage(
        message.topic, message.partition, message.offset, None, message.document
    )
    try:
        document = json.loads(message.document or "")
        missing = [name for name in _MEMBERS if not isinstance(document[name], Mapping)]
        if missing:
            return ddl.SchemaEvent(of_topic, "", (), f"no object: {', '.join(missing)}")
        statement, told, renamed = ddl.table_changes(document, connector)
        position = offset_position(document["position"], CONNECTORS[connector])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as broken:
        problem = f"not readable: {type(broken).__name__}: {broken}"
        return ddl.SchemaEvent(of_topic, "", (), problem)
    placed = replace(of_topic, position=position)
    return ddl.SchemaEvent(placed, statement, told, renamed=renamed)


def offset_position(offset: Mapping[str, object], connector: Connector) -> str | None:
    """A connector's offset as text whose order is the order of commits; None where it has none."""
    parts: list[str] = []
    for each in connector.position[: connector.commit_fields]:
        found = [_digits(each.codec, str(offset.get(path))) for path in each.paths]
        numbers = [digits.rjust(each.width, "0") for digits in found if digits]
        if not numbers:
            return None
        parts.append(max(numbers))
    return ".".join(parts)


def _digits(codec: Codec, text: str) -> str:
    if codec is Codec.HEX:
        digits = text.replace(":", "").lower()
        return digits if re.fullmatch("[0-9a-f]+", digits) else ""
    number = text.rpartition(".")[2] if codec is Codec.NUMBERED_FILE else text
    # Oracle appends a thread and transactions to the SCN of a commit.
    found = re.match(r"\d{1,40}", number)
    return found[0] if found else ""
