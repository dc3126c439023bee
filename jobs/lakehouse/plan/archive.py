"""Topic archives: `<topic>.jsonl[.gz]` with one JSON object per message.

In: file names, lines, and what Spark has counted in them. Out: the files to land, the fault of a
line, and a landing plan. `headers_b64` holds `[[name, base64 | null], …]` in place of `headers`
when a header's value is not UTF-8.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.offsets import (
    LandedOffsets,
    LandingPlan,
    OffsetRange,
    TopicProgress,
    batch_id,
)

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

_FILE_NAME = re.compile(r"([A-Za-z0-9._-]+)\.jsonl(?:\.gz)?")


@dataclass(frozen=True, slots=True, order=True)
class ArchiveFile:
    """One topic of an archive."""

    topic: str
    path: Path


@dataclass(frozen=True, slots=True, order=True)
class PartitionContent:
    """What an archive holds of one topic partition.

    Attributes:
        first: Lowest offset.
        last: Highest offset.
        limit: Lowest offset whose timestamp is outside the data interval; None for none.
    """

    topic: str
    partition: int
    first: int
    last: int
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ArchivePlan:
    """What to land of an archive, and what to compare with bronze before.

    Attributes:
        landing: The ranges that are new.
        landed: Ranges of the archive that bronze must have, byte for byte.
    """

    landing: LandingPlan
    landed: tuple[OffsetRange, ...]


def archive_files(folder: Path, names: Iterable[str]) -> tuple[ArchiveFile, ...]:
    """The topics of an archive, sorted; other files are not part of it.

    Args:
        folder: Where the files are.
        names: The names of the files in it.

    Raises:
        ArchiveError: If there is no topic, or one is there twice.
    """
    found: dict[str, Path] = {}
    for name in sorted(names):
        match = _FILE_NAME.fullmatch(name)
        if match is None:
            continue
        if match[1] in found:
            raise ArchiveError(
                f"{folder}: topic {match[1]!r} is there twice, as {found[match[1]].name!r} and "
                f"{name!r}: expected one file for each topic; remove one of them"
            )
        found[match[1]] = folder / name
    if not found:
        raise ArchiveError(
            f"{folder}: no topic: expected files named <topic>.jsonl or <topic>.jsonl.gz"
        )
    return tuple(ArchiveFile(topic, path) for topic, path in sorted(found.items()))


def archive_topic_id(topic: str, source: str) -> str:
    """The topic id of an archived topic; two archives of one source continue each other."""
    return "archive-" + hashlib.sha256(json.dumps([source, topic]).encode()).hexdigest()[:24]


def plan_archive(
    source: str, landed: LandedOffsets, contents: Iterable[PartitionContent]
) -> ArchivePlan:
    """Plan the landing of an archive.

    Args:
        source: The source's name.
        landed: What bronze has.
        contents: Each topic partition that the archive holds.

    Raises:
        LandingRefused: If a topic is landed from Kafka and the archive holds more of it.
    """
    found = sorted(contents)
    _refuse_mixed(source, landed, found)
    new, known, topics = [], [], dict(landed.topics)
    for content in found:
        topic_id = archive_topic_id(content.topic, source)
        end = content.last + 1 if content.limit is None else content.limit
        next_offset = landed.next_offset(content.topic, content.partition)
        start = content.first if next_offset is None else max(content.first, next_offset)
        if start < end:
            new.append(OffsetRange(content.topic, content.partition, start, end, topic_id))
            before = topics.get(content.topic, TopicProgress(topic_id, {}))
            topics[content.topic] = TopicProgress(
                topic_id, {**before.next_offsets, content.partition: end}
            )
        if next_offset is not None and content.first < next_offset:
            owner = landed.topics[content.topic].topic_id
            known.append(
                OffsetRange(content.topic, content.partition, content.first, next_offset, owner)
            )
    return ArchivePlan(LandingPlan(tuple(new), LandedOffsets(topics), batch_id(new)), tuple(known))


def _refuse_mixed(source: str, landed: LandedOffsets, contents: Iterable[PartitionContent]) -> None:
    lines = []
    for content in contents:
        progress = landed.topics.get(content.topic)
        if progress is None or progress.topic_id == archive_topic_id(content.topic, source):
            continue
        next_offset = progress.next_offsets.get(content.partition, 0)
        if content.last >= next_offset:
            lines.append(
                f"Topic {content.topic!r} partition {content.partition}: offsets up to "
                f"{content.last} in the archive: expected them below {next_offset}, because "
                f"bronze has this topic from Kafka (id {progress.topic_id!r}); land the rest from "
                "Kafka, or land the archive as another source"
            )
    if lines:
        raise LandingRefused("\n".join(lines))


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
