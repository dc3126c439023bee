"""Topic archives: `<topic>.jsonl[.gz]` with one JSON object per message.

In: file names, and what Spark has counted in the files. Out: the files to land, and a plan.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.topics.landing import LandingPlan
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange, TopicProgress, batch_id

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


def listed_files(folder: Path) -> tuple[ArchiveFile, ...]:
    """The topics of the archive in a folder, sorted.

    Raises:
        ArchiveError: There is no such folder, or not an archive in it.
    """
    if not folder.is_dir():
        what = "not a folder" if folder.exists() else "no such folder"
        raise ArchiveError(
            f"Topic archive {str(folder)!r}: {what}: expected one with <topic>.jsonl files"
        )
    return archive_files(folder, [path.name for path in folder.iterdir() if path.is_file()])


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
