"""Records of the connector's internal schema history topic.

In: messages, which have no key and leave out members that are null. Out: schema change events, as
messages of the schema change topic give them, with the position of their offset. Who writes the
topic is the connector alone.
https://debezium.io/documentation/reference/stable/connectors/mysql.html ("Schema history topic")
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.connectors import CONNECTORS, Codec, Connector, PositionField
from lakehouse.quality.schemas import ddl

_MEMBERS = ("source", "position")
# An offset names the source snapshot that runs; an incremental one changes nothing of a statement.
_NO_SNAPSHOT = ("", "false", "none", "incremental")


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    """A message of the schema history topic.

    Attributes:
        document: Its text; None for no text.
        log: What positions of the log begin with in which it was sent; empty for the first one.
    """

    topic: str
    partition: int
    offset: int
    keyed: bool
    document: str | None
    log: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The schema history topic.

    Attributes:
        events: What its records tell, in order.
        keyed: The offsets of those that have a key.
        is_whole: Whether they begin with the topic's first one.
    """

    topic: str
    events: tuple[ddl.SchemaEvent, ...]
    keyed: tuple[int, ...] = ()
    is_whole: bool = True


def parse_history(
    topic: str, messages: Sequence[HistoryMessage], connector: str, *, is_whole: bool
) -> History:
    """Read the records of a schema history topic, in order."""
    events = tuple(parse_record(message, connector) for message in messages)
    return History(topic, events, tuple(m.offset for m in messages if m.keyed), is_whole)


def parse_record(message: HistoryMessage, connector: str) -> ddl.SchemaEvent:
    """Read one record; what cannot be read is an event with a problem, never an error."""
    of_topic = ddl.SchemaMessage(
        message.topic, message.partition, message.offset, None, message.document
    )
    try:
        document = json.loads(message.document or "")
        missing = [name for name in _MEMBERS if not isinstance(document.get(name), Mapping)]
        if missing:
            return ddl.SchemaEvent(of_topic, "", (), f"no object: {', '.join(missing)}")
        event = ddl.event_of(of_topic, document, connector)
        position = offset_position(document["position"], CONNECTORS[connector])
        is_snapshot = _is_snapshot(document["position"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as broken:
        problem = f"not readable: {type(broken).__name__}: {broken}"
        return ddl.SchemaEvent(of_topic, "", (), problem)
    placed = replace(of_topic, position=position and message.log + position)
    return replace(event, message=replace(placed, is_snapshot=is_snapshot))


def offset_position(offset: Mapping[str, object], connector: Connector) -> str | None:
    """A connector's offset as a position of its source; None where it has none.

    MySQL's is the end of a statement, MariaDB's where its transaction begins, and both stand
    between the events before the statement and those behind it.
    """
    parts: list[str] = []
    for each in connector.position:
        found = [digits for path in each.paths for digits in _digits(each, offset.get(path))]
        if not found:
            break
        parts.append(max(found))
    if len(parts) < connector.commit_fields:
        return None
    # Without a change there is none to count: while SQL Server reads a snapshot, its counter is 1.
    return ".".join((*parts, *("0" * each.width for each in connector.position[len(parts) :])))


def _digits(field: PositionField, value: object) -> Iterator[str]:
    """The numbers of a member of an offset, as long as the field's text is."""
    text = str(value)
    if field.codec in (Codec.HEX, Codec.HEX_TEXT):
        digits = text.replace(":", "").lower()
        if re.fullmatch("[0-9a-f]+", digits) and field.width in (0, len(digits)):
            yield digits
        return
    if field.codec is Codec.NUMBERED_FILE:
        text = text.rpartition(".")[2]
    # Oracle lists the commits of its redo threads: SCN, thread and transactions of each.
    for part in text.split(","):
        found = re.match(r"[0-9]+(?=:|$)", part)
        if found and len(found[0]) <= field.width:
            yield found[0].rjust(field.width, "0")


def _is_snapshot(offset: Mapping[str, object]) -> bool:
    return str(offset.get("snapshot") or "").lower() not in _NO_SNAPSHOT
