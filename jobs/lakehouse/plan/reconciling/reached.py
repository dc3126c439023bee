"""Whether a published cut has all that a source had committed up to the end of its log.

In: the progress of a cut, and the end of the log as the database names it. Out: yes or no. A cut is
a prefix of the log, so one streamed event from behind the end says that all before it is there.
"""

from __future__ import annotations

from dataclasses import dataclass

from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow

_LOG_END = "|"


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The end of a source's log while it was read.

    Attributes:
        shown: As the database names it.
        numbers: In PostgreSQL the LSN; in MySQL and MariaDB the number of the file and the place
            in it.
    """

    shown: str
    numbers: tuple[int, ...]


def postgresql_end(lsn: str) -> LogEnd:
    """The end from text such as `16/B374D848`.

    Raises:
        ValueError: It is no LSN.
    """
    high, low = lsn.split("/")
    return LogEnd(lsn, (int(high, 16) << 32 | int(low, 16),))


def binlog_end(file: str, place: int) -> LogEnd:
    """The end from a file such as `binlog.000123` and the next place in it.

    Raises:
        ValueError: The file has no number.
    """
    return LogEnd(f"{file}:{place}", (int(file.rpartition(".")[2]), place))


def has_reached(cut: CutRow, end: LogEnd) -> bool:
    """Whether a streamed event of the cut stands at the end or behind it.

    An event of PostgreSQL names the commit before its own and its own place: either of them may be
    behind the end. Elsewhere an event's place is where it begins, and the end is where the next one
    will begin.
    """
    tops = [top.position for top in Progress.from_json(cut.offsets).tops.values() if top.position]
    if not tops:
        return False
    numbers = tuple(map(int, max(tops).rpartition(_LOG_END)[2].split(".")))
    if len(end.numbers) == 1:
        return max(numbers) >= end.numbers[0]
    return numbers[: len(end.numbers)] >= end.numbers
