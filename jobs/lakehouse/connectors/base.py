"""What differs between connectors, as data. The engine asks these fields, never a name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Codec(StrEnum):
    """How a position field of the source block becomes a number.

    Every codec gives a decimal number without sign, so that fixed-width text keeps the order.
    """

    INTEGER = "integer"
    """A JSON number or decimal text."""
    NUMBERED_FILE = "numbered_file"
    """`binlog.000123`: the digits after the last dot."""
    PAIR_FIRST = "pair_first"
    """The first number of JSON text such as `["12","34"]`; may be null inside."""
    PAIR_SECOND = "pair_second"
    """The second number of the same text."""


@dataclass(frozen=True, slots=True)
class PositionField:
    """One field of a position.

    Attributes:
        path: Field of the source block.
        codec: How it becomes a number.
        width: Digits of its fixed-width text; the largest possible value fits.
    """

    path: str
    codec: Codec
    width: int


@dataclass(frozen=True, slots=True)
class Connector:
    """The rules of one connector.

    Attributes:
        name: As in the TOML file and in `source.connector`.
        collection_parts: Source fields that make the name in END's `data_collections`.
        position: Position fields, the most significant first.
        commit_fields: How many of them order commits; the rest order changes inside one.
        commit_may_be_null: The first field is null in source snapshots and in the first
            transaction after a start (PostgreSQL): the highest number seen before stands in.
        transaction_separator: Transaction ids are compared up to this text; None: whole.
    """

    name: str
    collection_parts: tuple[str, ...]
    position: tuple[PositionField, ...]
    commit_fields: int
    commit_may_be_null: bool = False
    transaction_separator: str | None = None

    @property
    def source_fields(self) -> tuple[str, ...]:
        """The fields of the source block that positions are made from, each once."""
        return tuple(dict.fromkeys(field.path for field in self.position))
