"""Which statements are told already: read again by a later run, or written again by the connector.

In: recorded rows of statements, then each statement that is read. Out: whether it is a new one. A
connector that starts again behind a statement writes it once more, maybe behind later ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.plan.records import SchemaVersionRow

# Table, topic, topic partition.
_Place = tuple[str, str, int]
# Position, statement, table, and the columns that it leaves.
_Statement = tuple[str, str, str, str]


@dataclass(slots=True)
class Seen:
    """What is known of statements.

    Attributes:
        read: How far each table's statements are recorded: the highest offset and position.
            Statements that changed no column have no row, and are among them.
        told: The statements with a position.
    """

    read: dict[_Place, tuple[int, str]]
    told: set[_Statement]

    @staticmethod
    def of(rows: Iterable[SchemaVersionRow]) -> Seen:
        """What recorded rows of statements tell."""
        read: dict[_Place, tuple[int, str]] = {}
        told: set[_Statement] = set()
        for row in rows:
            told.add(_statement(row))
            for identity in {row.identity, row.previous or row.identity}:
                at = (identity, row.topic, row.partition)
                offset, position = read.get(at, (row.offset, row.position))
                read[at] = (max(offset, row.offset), max(position, row.position))
        return Seen(read, told)

    def is_new(self, row: SchemaVersionRow) -> bool:
        """Whether nothing has told the statement yet; from now on it is told.

        Args:
            row: The statement as a row, before it is known what it changes.
        """
        offset, position = self.read.get((row.identity, row.topic, row.partition), (-1, ""))
        # A topic that was created again begins with offset 0, behind what is recorded.
        is_read_again = row.offset <= offset and row.position <= position
        statement = _statement(row)
        is_told_again = row.position != "" and statement in self.told
        self.told.add(statement)
        return not (is_read_again or is_told_again)


def _statement(row: SchemaVersionRow) -> _Statement:
    return row.position, row.ddl, row.identity, row.fingerprint
