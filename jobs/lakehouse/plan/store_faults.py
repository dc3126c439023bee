"""What a failure of the store or the catalog means for a person: what is wrong, and what to do.

In: an error of Java's, of SQLite's or of the operating system. Out: one sentence, or none where it
is another error. Files are named as the error names them; nothing else of its text is repeated.
"""

from __future__ import annotations

import re
from enum import Enum

from lakehouse.plan.catalog import BUSY_TIMEOUT_S

# Iceberg's words (core/…/hadoop/HadoopInputFile.java, core/…/io/EagerInputFile.java), Hadoop's and
# Arrow's. A file that cannot be created is no torn one.
_FILE = re.compile(
    r"Failed to (?:open|fetch|read)[\w ]* (?:file:? ?)'?(?P<iceberg>[^\s',]+)"
    r"|FileNotFoundException: File (?P<hadoop>\S+) does not exist"
    r"|Checksum error: (?P<checksum>\S+)"
    r"|(?P<parquet>\S+) is not a Parquet file"
)
_WHOLE = (
    "every file of its tables to be whole; `lakehouse doctor --source {source}` names those that "
    "are gone or cut off, and `--repair` mends that; where it finds nothing, `lakehouse rebuild "
    "--source {source}` makes silver again from bronze; what was only staged the next run stages "
    "again"
)


class _Fault(Enum):
    """Signs of what is wrong, and what follows; the first whose sign is found counts."""

    FULL = (
        r"No space left on device|Disk quota exceeded|File too large|database or disk is full",
        "the disk is full",
        (
            "room for data files, the catalog and Spark's scratch files; make room, then run "
            "again: the next run does the work"
        ),
    )
    LOCKED = (
        r"database is locked|SQLITE_BUSY|SQLITE_LOCKED",
        f"the catalog's file was locked for more than {BUSY_TIMEOUT_S} s",
        (
            "others to hold it for moments; end who holds it (`fuser -v` names the process), or "
            "keep the catalog in PostgreSQL where many sources share it, then run again: the next "
            "run does the work"
        ),
    )
    CLOCK = (
        r"Invalid update timestamp|Expected sorted snapshot log entries",
        "this machine's clock is behind what wrote the tables",
        (
            "a clock that is right within a minute on every machine that writes; set it "
            "(`timedatectl`), then run again: nothing was written"
        ),
    )
    TORN_FILE = (
        _FILE.pattern,
        "file {file} is not there, or not as it was written",
        _WHOLE,
    )
    TORN_PART = (
        (
            r"can not read class org\.apache\.[\w.]*parquet\.format"
            r"|could not read page|Invalid Avro file|Reached the end of stream with"
        ),
        "a file is not as it was written (the log's `Error reading file(s)` names it)",
        _WHOLE,
    )

    def __init__(self, sign: str, failed: str, expected: str) -> None:
        self.sign, self.failed, self.expected = sign, failed, expected


def store_fault(error: BaseException, source: str = "SOURCE") -> str | None:
    """What is wrong with the store or the catalog, and what to do; None for any other error.

    Args:
        error: What a step, or whoever opened the catalog, ended with.
        source: The name of the source that is worked on.
    """
    if (fault := _fault(error)) is None:
        return None
    said = f"{fault.failed}: expected {fault.expected}"
    return said.format(source=source, file=_file(str(error)))


def is_torn(error: BaseException) -> bool:
    """Whether a file that a table names is not there, or not as it was written."""
    return _fault(error) in (_Fault.TORN_FILE, _Fault.TORN_PART)


def _fault(error: BaseException) -> _Fault | None:
    text = str(error)
    return next((each for each in _Fault if re.search(each.sign, text)), None)


def _file(text: str) -> str:
    """The file that an error names."""
    found = _FILE.search(text)
    return "" if found is None else next(text for text in found.groups() if text)
