"""Which tables are worth compaction, told from the summary of their newest snapshot alone.

In: the counts that Iceberg keeps in every snapshot (https://iceberg.apache.org/spec/#snapshots).
Out: whether files are to be merged, and how. No file is listed for a table that needs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import UTC, datetime

_MIB = 1024**2
# Fewer files than this are not worth a commit.
MIN_FILES = 5
# So large a part of a file's rows is deleted before the file is written again without them.
DELETED_SHARE = 0.3
# A part of a table's rows this small cannot hold a file with that share, or it does not matter.
_LEAST_DELETED = 0.05
_MOST_MANIFESTS = 50
_MOST_GROUP_BYTES = 10 * 1024 * _MIB


@dataclass(frozen=True, slots=True)
class Figures:
    """What a table is made of.

    Attributes:
        files: Data files that the newest snapshot reads.
        deletes: Delete files of it: deletion vectors in silver.
        size: Bytes of both.
        rows: Rows in the data files, deleted ones included.
        deleted: Of them, deleted by delete files.
        snapshots: How many snapshots the table remembers.
    """

    files: int = 0
    deletes: int = 0
    size: int = 0
    rows: int = 0
    deleted: int = 0
    snapshots: int = 0

    def __add__(self, other: Figures) -> Figures:
        """Those of two tables together."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Figures(*(one + another for one, another in pairs))


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table's files are merged.

    Attributes:
        target: Bytes of a merged file.
        order: Columns by which merged rows are sorted; none keeps their order.
        is_thorough: Whether no file stays of which a single row is deleted.
        dead_share: So large a part of a file's rows is deleted before the file is written again
            without them.
        smallest: Smaller files, in bytes, are merged; 0 for those far below the target.
    """

    target: int = 512 * _MIB
    order: tuple[str, ...] = ()
    is_thorough: bool = False
    dead_share: float = DELETED_SHARE
    smallest: int = 0

    @property
    def options(self) -> dict[str, str]:
        """The options of Iceberg's `rewrite_data_files`."""
        return {
            "target-file-size-bytes": str(self.target),
            # What a landing or an initial load wrote in one large file is left as it is.
            "max-file-size-bytes": str(2**62),
            "max-file-group-size-bytes": str(_MOST_GROUP_BYTES),
            "min-input-files": str(MIN_FILES),
            "delete-ratio-threshold": str(self.dead_share),
            **({"delete-file-threshold": "1"} if self.is_thorough else {}),
            **({"min-file-size-bytes": str(self.smallest)} if self.smallest else {}),
        }


@dataclass(frozen=True, slots=True)
class Maintained:
    """What maintenance did to one table.

    Attributes:
        before: Its figures before; None where they could not be read.
        after: And afterwards.
        removed: Files that are gone from the store.
        error: Why it was not maintained as a whole; empty where it was.
        notes: What a person should know.
    """

    table: str
    before: Figures | None = None
    after: Figures | None = None
    removed: int = 0
    error: str = ""
    notes: tuple[str, ...] = field(default_factory=tuple)

    def to_detail(self) -> dict[str, object]:
        """As the row in `quality.runs` has it."""
        return {**asdict(self), "notes": list(self.notes)}

    @staticmethod
    def from_detail(values: Mapping[str, object]) -> Maintained:
        """What `to_detail` gave, read from JSON."""
        return Maintained(
            str(values["table"]),
            _figures(values["before"]),
            _figures(values["after"]),
            int(str(values["removed"])),
            str(values["error"]),
            tuple(map(str, values["notes"])) if isinstance(values["notes"], list) else (),
        )


# Reads prune by the bounds of files and row groups.
BRONZE = Layout(order=("topic", "partition", "offset"))
SILVER = Layout()


def control_layout(time: str) -> Layout:
    """A control table's: in small files by time, since the newest rows are asked for most."""
    return Layout(8 * _MIB, (time,))


def figures_of(summary: Mapping[str, str], snapshots: int) -> Figures:
    """What the summary of a table's newest snapshot counts.

    Args:
        summary: Its properties; a count that is not there is 0.
        snapshots: How many snapshots there are.
    """

    def count(name: str) -> int:
        return int(summary.get(name) or 0)

    return Figures(
        files=count("total-data-files"),
        deletes=count("total-delete-files"),
        size=count("total-files-size"),
        rows=count("total-records"),
        deleted=count("total-position-deletes"),
        snapshots=snapshots,
    )


def needs_compaction(figures: Figures, layout: Layout) -> bool:
    """Whether files are to be merged; which ones, Iceberg decides from their sizes and deletes."""
    fewest = -(-figures.size // layout.target)
    if figures.files - fewest >= MIN_FILES:
        return True
    return figures.deletes > 0 and figures.deleted > _LEAST_DELETED * figures.rows


def needs_manifests(manifests: int) -> bool:
    """Whether the lists of files are to be merged, so that a scan reads few of them."""
    return manifests > _MOST_MANIFESTS


def ended_days(now: datetime) -> datetime:
    """The end of the days that get no more messages: each of them is merged once."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _figures(values: object) -> Figures | None:
    if not isinstance(values, Mapping):
        return None
    return Figures(**{each.name: int(values[each.name]) for each in fields(Figures)})
