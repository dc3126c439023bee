"""Single lines of archive files, read in the driver: where one is broken, where a message is.

In: files that Spark found at fault. Out: an ArchiveError with file and line number. Only these
files are read here, line by line.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from lakehouse.errors import ArchiveError
from lakehouse.plan.topics.archive import ArchiveFile
from lakehouse.plan.topics.archive_line import line_fault


def refuse_broken_lines(
    files: Iterable[ArchiveFile], large_bytes: int, whole: Collection[str]
) -> None:
    """Raise for the first line that is no message of its topic, or repeats an offset.

    Args:
        files: The files to read.
        large_bytes: From this length on, lines are checked in every file.
        whole: Topics that are at fault, all of whose lines are checked.

    Raises:
        ArchiveError: With file, line number and what is wrong.
    """
    for file in files:
        suspicious = file.topic in whole
        seen: set[tuple[int, int]] = set()
        for number, line in numbered_lines(file.path):
            if not suspicious and len(line) < large_bytes:
                continue
            fault = line_fault(line, file.topic)
            if fault is None and suspicious:
                fault = _repeated(line, seen)
            if fault is not None:
                raise ArchiveError(f"{file.path}: line {number}: {fault}; nothing was landed")


def unexplained(file: ArchiveFile) -> ArchiveError:
    """The error for a file that Spark cannot read and whose lines look right one by one."""
    return ArchiveError(
        f"{file.path}: a line cannot be read as a message: expected one JSON object for each "
        "message; nothing was landed"
    )


def refuse_empty(path: Path) -> None:
    """A gzip file has a head and an end, whatever is in it; of nothing no reader says that.

    Raises:
        ArchiveError: The file ends in `.gz` and has no octet.
    """
    if path.suffix == ".gz" and path.stat().st_size == 0:
        raise ArchiveError(
            f"{path}: has 0 bytes: expected a whole gzip file; nothing was landed; copy it again, "
            "or remove it where its topic has no message"
        )


def line_number(path: Path, partition: int, offset: int) -> int:
    """The number of the line that holds a message; 0 if it is gone."""
    for number, line in numbered_lines(path):
        if _position(line) == (partition, offset):
            return number
    return 0


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file from number 1 on, without their ends.

    Raises:
        ArchiveError: If the file cannot be read to its end.
    """
    number = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield number, line.removesuffix(b"\n")
    except (OSError, EOFError, zlib.error) as broken:
        raise ArchiveError(
            f"{path}: line {number + 1}: cannot be read ({broken}): expected "
            f"{'a whole gzip file' if path.suffix == '.gz' else 'a readable file'}; "
            "nothing was landed"
        ) from broken


def _repeated(line: bytes, seen: set[tuple[int, int]]) -> str | None:
    position = _position(line)
    if position in seen:
        return f"partition {position[0]} offset {position[1]} is there twice: expected it once"
    seen.add(position)
    return None


def _position(line: bytes) -> tuple[int, int]:
    message = json.loads(line)
    return message["partition"], message["offset"]
