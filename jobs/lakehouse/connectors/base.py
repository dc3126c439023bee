"""What differs between connectors, as data. The engine asks these fields, never a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lakehouse.connectors.sql_text import SqlText


class Codec(StrEnum):
    """How a position field of the source block becomes text of digits.

    Every codec gives a number without sign, so that fixed-width text keeps the order.
    """

    INTEGER = "integer"
    """A JSON number or decimal text."""
    NUMBERED_FILE = "numbered_file"
    """`binlog.000123`: the digits after the last dot."""
    PAIR_FIRST = "pair_first"
    """The first number of JSON text such as `["12","34"]`; may be null inside."""
    PAIR_SECOND = "pair_second"
    """The second number of the same text."""
    HEX = "hex"
    """Groups of hexadecimal digits with colons between them, always of the same length."""
    HEX_TEXT = "hex_text"
    """Hexadecimal digits of any length; only the last field of a position, it is not padded."""


class InlineReference(StrEnum):
    """What `REFERENCES` behind a column's type means to the source, unlike FOREIGN KEY (…)."""

    IGNORED = "ignored"
    """No foreign key, or one only in some versions of the source."""
    TO_KEY = "to key"
    """A foreign key; without columns it refers to the table's primary key."""
    TO_NAMESAKE = "to namesake"
    """A foreign key; without columns it refers to the column of the same name."""


SCHEMA_TABLE = ("schema_name", "table")
DATABASE_TABLE = ("database", "table")
DATABASE_SCHEMA_TABLE = ("database", "schema_name", "table")


@dataclass(frozen=True, slots=True)
class PositionField:
    """One field of a position.

    Attributes:
        path: Field of the source block.
        codec: How it becomes a number.
        width: Digits of its fixed-width text; the largest possible value fits.
        other: A second field of the source block; the larger of the two counts.
        optional: Whether the field may be absent or null, which orders before every number.
    """

    path: str
    codec: Codec
    width: int
    other: str | None = None
    optional: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The fields of the source block that it is made from."""
        return (self.path,) if self.other is None else (self.path, self.other)


@dataclass(frozen=True, slots=True)
class Connector:
    """The rules of one connector.

    Attributes:
        name: As in the TOML file.
        identity_parts: The parts of a table's identity that make its names, in order.
        collection_parts: Source fields that make the name in END's `data_collections`.
        other_collections: What END counts beside tables, as a regular expression over the names
            in its `data_collections`; empty where it counts nothing else.
        position: Position fields, the most significant first.
        commit_fields: How many of them order commits; the rest order changes inside one.
        commit_may_be_null: The first field is null in source snapshots and in the first
            transaction after a start (PostgreSQL): the highest number seen before stands in.
        transaction_separator: Transaction ids are compared up to this text; None: whole.
        own_topics: Whether a table's events stand in the topic that is named after it; else in
            any topic that the TOML file lists.
        ends_late: Whether END comes with the next transaction, and has its time.
        gtids: Whether a GTID can tell another log of the source.
        zoned_timestamps: Whether the source's type TIMESTAMP has a zone.
        zoned_as_text: Whether times with a zone have more digits than a timestamp of silver keeps.
        key_changes_in_place: Whether an update that changes the key may be one event.
        schema_changes_in_data: Whether schema changes come between the data events, without `op`.
        ddl_dialect: sqlglot's name of the SQL in `ddl`; None where no statement is sent.
        defaults_as_read: Whether the defaults in the events' schema are what the connector reads in
            the database's text of them, and no statement tells more.
        blank_defaults: Plain types of a message that have a blank default for an expression.
        nullable_stays_null: Whether a column that may be NULL is NULL in the rows that were there,
            whatever its default, unless its statement says otherwise.
        untold_defaults: Semantic or plain types of a message whose defaults it never has.
        inline_references: What `REFERENCES` behind a column's type means in its statements.
        losses: Semantic or plain type of a message → what its values lose on their way here.
        hidden_types: The same, unless the source's own type is known or declared.
        ranges: Type of the source, in lower case and without length → its least and greatest
            number, where the messages could hold others.
        signals: Whether it takes signals, such as one that asks for a snapshot.
        sql: How its database writes names and values.
        database_settings: Settings of the connector that tell the database where a table's name
            begins with one that the TOML file leaves out; the first that is set counts.
    """

    name: str
    identity_parts: tuple[str, ...]
    collection_parts: tuple[str, ...]
    position: tuple[PositionField, ...]
    commit_fields: int
    other_collections: str = ""
    commit_may_be_null: bool = False
    transaction_separator: str | None = None
    own_topics: bool = True
    ends_late: bool = False
    gtids: bool = False
    zoned_timestamps: bool = False
    zoned_as_text: bool = False
    key_changes_in_place: bool = False
    schema_changes_in_data: bool = False
    ddl_dialect: str | None = None
    defaults_as_read: bool = False
    blank_defaults: frozenset[str] = frozenset()
    nullable_stays_null: bool = False
    untold_defaults: frozenset[str] = frozenset()
    inline_references: InlineReference = InlineReference.IGNORED
    losses: Mapping[str, str] = field(default_factory=dict)
    hidden_types: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    signals: bool = True
    sql: SqlText = field(default_factory=SqlText)
    database_settings: tuple[str, ...] = ()

    @property
    def timeout(self) -> str:
        """How long a transaction waits for its END."""
        return "2m" if self.ends_late else "1h"

    @property
    def source_fields(self) -> tuple[str, ...]:
        """The fields of the source block that positions are made from, each once."""
        return tuple(dict.fromkeys(path for field in self.position for path in field.paths))
