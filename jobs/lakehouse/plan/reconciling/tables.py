"""What of a table is compared: its key, its columns, and those that are left out with the reason.

In: a table as its database describes it, the silver table's columns, recorded losses. Out: a
`ComparedTable`, by which both sides are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakehouse.connectors import Connector
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.losses import MASK, Loss, LossClass
from lakehouse.plan.reconciling.kinds import is_held_as
from lakehouse.plan.reconciling.texts import digest, value_text


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of a source: its columns with their kinds (see `canonical`), and its key."""

    identity: TableIdentity
    columns: Mapping[str, str]
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SilverColumn:
    """A column of a silver table.

    Attributes:
        type: As Spark spells it, without blanks.
        doc: Empty for none.
    """

    name: str
    type: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column that is compared.

    Attributes:
        name: In the source.
        silver: In silver.
        kind: See `canonical`.
        doc: That of silver's column.
    """

    name: str
    silver: str
    kind: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """How a table is compared.

    Attributes:
        title: The table as TOML files write it.
        silver: Namespace and name of its silver table.
        columns: What is compared, those of the key first.
        key: How many of them are its key; 0: equal rows are counted.
        left_out: Columns that are not compared, each with the reason.
        refused: Why it cannot be compared at all; empty where it can.
    """

    title: str
    identity: TableIdentity
    silver: str
    columns: tuple[ComparedColumn, ...] = ()
    key: int = 0
    left_out: tuple[tuple[str, str], ...] = ()
    refused: str = ""

    @property
    def key_columns(self) -> tuple[ComparedColumn, ...]:
        """The columns that name a row; all of them where there is no key."""
        return self.columns[: self.key] if self.key else self.columns

    def texts(self, values: Iterable[object], *, of_silver: bool) -> list[bytes]:
        """The texts of a row's compared columns.

        Args:
            values: In the order of `columns`.
            of_silver: Whose values they are: a time of day of silver has the unit in its doc.
        """
        return [
            value_text(value, column.kind, column.doc if of_silver else "")
            for column, value in zip(self.columns, values, strict=True)
        ]

    def key_digest(self, texts: list[bytes]) -> bytes:
        """What names a row by its key, in a table without one by all it has."""
        return digest(texts[: self.key] if self.key else texts)


def compared_table(
    table: SourceTable,
    names: tuple[str, str],
    silver: Iterable[SilverColumn],
    key: tuple[str, ...],
    losses: Iterable[Loss],
    connector: Connector,
) -> ComparedTable:
    """Choose what is compared.

    Args:
        table: The table in its database.
        names: Its title, and its silver table.
        silver: The silver table's columns; empty where there is none in the cut.
        key: The silver table's key; empty for none.
        losses: What is recorded of its columns.
        connector: Whose losses `canonical` leaves out of the form.
    """
    title, name = names
    there = {column.name.lower(): column for column in silver}
    lossy = {loss.name.lower(): loss for loss in losses if loss.loss is LossClass.LOSSY}
    left_out: dict[str, str] = {}
    columns: dict[str, ComparedColumn] = {}
    for source, kind in table.columns.items():
        found = there.get(source.lower())
        reason = _reason(kind, found, lossy.get(source.lower()), connector)
        if reason or found is None:
            left_out[source] = reason
        else:
            columns[source.lower()] = ComparedColumn(source, found.name, kind, found.doc)
    missing = [part for part in key if part.lower() not in columns]
    refused = "" if there else "the published cut has no such table"
    if missing and not refused:
        reasons = {n.lower(): reason for n, reason in left_out.items()}
        why = reasons.get(missing[0].lower(), "the source has no such column")
        refused = f"its key {missing[0]} cannot be compared: {why}"
    first = [columns[part.lower()] for part in key if part.lower() in columns]
    rest = [column for column in columns.values() if column not in first]
    return ComparedTable(
        title=title,
        identity=table.identity,
        silver=name,
        columns=(*first, *rest),
        key=len(first),
        left_out=tuple(left_out.items()),
        refused=refused or ("" if columns else "none of its columns can be compared"),
    )


def _reason(kind: str, column: SilverColumn | None, loss: Loss | None, connector: Connector) -> str:
    """Why a column is not compared; empty where it is."""
    if column is None:
        return "silver has no such column"
    if loss is not None and loss.fact == MASK:
        return loss.reason
    if not is_held_as(kind, column.type):
        return f"silver holds it as {column.type}"
    known = set(connector.losses.values())
    if loss is not None and not known.issuperset(loss.reason.split("; ")):
        return loss.reason
    return ""
