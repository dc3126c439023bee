"""The plan of one silver table for one batch: a pure value that Spark executes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lakehouse.names import TableIdentity
from lakehouse.plan.progress import Progress
from lakehouse.plan.schemas.renames import Rename
from lakehouse.plan.schemas.schema import SchemaPlan
from lakehouse.plan.schemas.types import Column

STATE_ENDING = "__state"
HISTORY_ENDING = "__history"
# A silver table and what belongs to it: moved, published and tagged together.
ENDINGS = ("", STATE_ENDING, HISTORY_ENDING)
# Iceberg's name of the branch that readers have.
MAIN = "main"
TopicPartition = tuple[str, int]
# Topic, topic partition and offset of a message.
Place = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """One schema version of a table in a batch.

    Attributes:
        fingerprint: As envelopes carry it.
        first: Topic partition → first offset with this version.
        stored: Column in the events → column of silver, where the names differ.
        withheld: Columns in the events that a mask drops.
        key: Columns of the event key under their names in silver, in the order of the row's
            columns; None for no key.
    """

    fingerprint: int
    columns: tuple[Column, ...]
    key: tuple[str, ...] | None
    first: Mapping[TopicPartition, int]
    stored: Mapping[str, str] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()

    def stored_name(self, column: str) -> str:
        """The column of silver that holds a column of the events."""
        return self.stored.get(column, column)

    @property
    def stored_columns(self) -> tuple[Column, ...]:
        """The columns under their names in silver."""
        return tuple(replace(c, name=self.stored_name(c.name)) for c in self.columns)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a source snapshot begins to read a table.

    Attributes:
        offset: Of its first event.
        position: That of what it reads; empty where what came before it gives it the place.
    """

    offset: int
    position: str = ""


@dataclass(frozen=True, slots=True)
class SweepRule:
    """What a repeated source snapshot may remove of a table.

    Attributes:
        blind: Why nothing can be told of what it did not read; empty where it can.
        refused: Why it may remove nothing; empty where it may.
        share: Of the table's rows, how many it may remove at most: 0 to 1.
        begun: The one that had begun before the batch; None for none.
        ended: Whether the newest one before the batch had ended.
    """

    blind: str = ""
    refused: str = ""
    share: float = 0.0
    begun: Beginning | None = None
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A column that the source changed in rows of which it sends no event.

    Attributes:
        why: For a person.
        fingerprint: The schema version that shows the change; 0 for the first one that has the
            column.
        unless_shown: Whether a row behind the change that has the value which silver gives to the
            older ones shows that they have it in the source, too.
    """

    why: str
    fingerprint: int = 0
    unless_shown: bool = False


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What apply does with one table.

    Attributes:
        silver: Namespace and name of its silver table.
        columns: Silver's columns after the batch: name as stored → Spark type.
        exists: Whether silver has the table, with rows that the batch builds on.
        versions: Schema versions that the batch carries, oldest first; those behind a hold are
            not among them.
        key: Columns that identify a row; none for a bag of rows, which its whole image names.
        key_in_row: Whether the key is read from the row image instead of the event key.
        halves: Whether an update is taken as a delete of the old row and an insert of the new one.
        schema: Columns to add and to widen.
        renames: What `publish` renames; the batch is staged under the old names.
        renamed: Position of the newest column that the source renamed; empty for none.
        dropped: Columns that leave silver in `publish`, under the names that they have by then.
        defaults: Columns whose constant default older rows get, by lower-case name.
        start: Where this table's events begin; held tables are behind the others.
        places: The topic partitions with its events.
        limits: Topic partition → first offset that a hold keeps back.
        truncate: Highest position of a truncate event in the batch; empty for none.
        read_again: Whether a source snapshot ends in the batch that may not be the first one.
        placeholders: Whether some event lacks unchanged large values.
        hold: Why the table stops; empty when it does not.
        soft: Whether a deleted row stays, marked as deleted.
        becomes_soft: Whether silver has the table, and no deleted row stayed in it before.
        history: Whether each version of a row is kept too.
        notes: What a person should know of its options.
        stale: Columns that the source changed in rows of which it sent no event.
        sweep: What a source snapshot may remove.
        held: How many of its keys wait for a quarantined event before the batch.
        base: The ref of its tables that the batch builds on.
        added_to: The cut and the snapshot that columns are added to; empty where there is none.
        behind: Position that no row and no mark of silver is above, and that all events of the
            batch are; empty where that is not known, and in a bag.
    """

    identity: TableIdentity
    silver: str
    exists: bool
    columns: Mapping[str, str]
    versions: tuple[Version, ...]
    key: tuple[str, ...]
    key_in_row: bool
    halves: bool
    schema: SchemaPlan
    renames: tuple[Rename, ...]
    renamed: str
    defaults: Mapping[str, Column]
    start: Progress
    places: tuple[TopicPartition, ...]
    limits: Mapping[TopicPartition, int]
    truncate: str
    placeholders: bool
    read_again: bool = False
    hold: str = ""
    soft: bool = False
    becomes_soft: bool = False
    history: bool = False
    notes: tuple[str, ...] = ()
    stale: Mapping[str, Rewritten] = field(default_factory=dict)
    sweep: SweepRule = field(default_factory=SweepRule)
    held: int = 0
    base: str = MAIN
    dropped: tuple[str, ...] = ()
    added_to: str = ""
    behind: str = ""

    @property
    def is_bag(self) -> bool:
        """Whether equal rows may stand in it several times."""
        return not self.key

    @property
    def state(self) -> str:
        """Namespace and name of the table of delete marks, barriers and marks of held keys."""
        return self.silver + STATE_ENDING

    @property
    def history_table(self) -> str:
        """Namespace and name of the table of versions; it is there where `history` is on."""
        return self.silver + HISTORY_ENDING


def default_token(column: Column) -> str | None:
    """The default as the text of a JSON token, as a row's image would carry it."""
    if column.default is None:
        return None
    value = json.loads(column.default)
    return value if isinstance(value, str) else json.dumps(value)
