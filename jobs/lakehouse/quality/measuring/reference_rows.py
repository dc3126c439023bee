"""References as SQL that gives rows which metrics are summed from.

In: a table and a reference of it. Out: `SELECT` texts by the hash of the values that refer: how
many rows of the batch have them, and whether a referenced row does.

Rows that a source snapshot has just read are left out: until it has ended, what they refer to may
be still to come. Deleted rows that stay refer to nothing. Text is compared without case and without
blanks at its end, as databases may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from lakehouse.envelope import DELETE, READ
from lakehouse.names import quote_ident
from lakehouse.quality.measuring.metric_rows import Keyed, key_hashes
from lakehouse.quality.measuring.silver_rows import SilverRows
from lakehouse.quality.measuring.staged import Reference, Target
from lakehouse.spark.sql import all_of, any_of, literal

_WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint"})


@dataclass(frozen=True, slots=True)
class ReferenceRows:
    """The SQL of one reference.

    Attributes:
        rows: The table that has it.
        subject: Names it among the subjects of a pass.
        there: Column → Spark type of the referenced table.
    """

    rows: SilverRows
    reference: Reference
    subject: str
    there: Mapping[str, str]

    @property
    def referring(self) -> str:
        """The batch's rows that refer to something, by what they refer to."""
        h1, h2 = self._hashes(self.reference.columns, self._kinds[0])
        keyed = Keyed(literal(self.subject), h1, h2, references="1")
        return keyed.select(self.rows.target.relation, self._condition)

    @property
    def keys(self) -> str:
        """What the batch's rows refer to."""
        h1, h2 = self._hashes(self.reference.columns, self._kinds[0])
        return (
            f"SELECT {literal(self.subject)} subject, {h1} h1, {h2} h2 "
            f"FROM {self.rows.target.relation} WHERE {self._condition}"
        )

    @property
    def referenced(self) -> str:
        """Every row that can be referred to, by the referenced columns."""
        h1, h2 = self._hashes(self.reference.referenced, self._kinds[1])
        keyed = Keyed(literal(self.subject), h1, h2, referenced="1")
        return keyed.select(self.reference.relation, _present(self.reference.referenced))

    @property
    def dangling(self) -> str:
        """Whether a staged row is one of the batch that refers to nothing."""
        h1, h2 = self._hashes(self.reference.columns, self._kinds[0])
        p1, p2 = self._hashes(self.reference.referenced, self._kinds[1])
        there = (
            f"SELECT {p1} __p1, {p2} __p2 FROM {self.reference.relation} "
            f"WHERE {_present(self.reference.referenced)}"
        )
        found = f"SELECT 1 FROM ({there}) WHERE __p1 = {h1} AND __p2 = {h2}"
        return f"({self._condition}) AND NOT EXISTS ({found})"

    def _hashes(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[str, str]:
        return key_hashes(self.subject, map(_value, names, kinds))

    @property
    def label(self) -> str:
        """For a person."""
        to = f"{self.reference.silver} ({', '.join(self.reference.referenced)})"
        return f"{', '.join(self.reference.columns)} → {to}"

    @property
    def _condition(self) -> str:
        """A reference that is NULL in part refers to nothing."""
        target, cdc = self.rows.target, quote_ident(self.rows.target.table.cdc)
        counts = f"{cdc}.op NOT IN ({literal(READ)}, {literal(DELETE)})"
        if target.settled is not None:
            long_ago = f"unix_seconds({cdc}.source_ts) < {int(target.settled.timestamp())}"
            counts = any_of((counts, all_of((f"{cdc}.op = {literal(READ)}", long_ago))))
        return all_of((self.rows.row.is_changed, counts, _present(self.reference.columns)))

    @property
    def _kinds(self) -> tuple[list[str], list[str]]:
        """The types of both sides."""
        return (
            _kinds(self.rows.types, self.reference.columns),
            _kinds(self.there, self.reference.referenced),
        )


def reference_rows(
    session: SparkSession, tables: Iterable[SilverRows]
) -> tuple[ReferenceRows, ...]:
    """The references of some tables.

    Args:
        session: From `session_for`.
        tables: The tables, as `with_comparable_references` leaves them.
    """
    pairs = [(table, each) for table in tables for each in table.target.references]
    types = {name: types_of(session, name) for name in {each.relation for _, each in pairs}}
    return tuple(
        ReferenceRows(table, each, f"{table.target.silver}#{number}", types[each.relation])
        for number, (table, each) in enumerate(pairs)
    )


def with_comparable_references(
    session: SparkSession, targets: Iterable[Target]
) -> tuple[Target, ...]:
    """The tables with the references whose values can be compared, and why the others are not.

    Args:
        session: Any that reads the tables.
        targets: The tables.
    """
    listed = tuple(targets)
    read = {target.relation for target in listed if target.references}
    read |= {each.relation for target in listed for each in target.references}
    types = {relation: types_of(session, relation) for relation in sorted(read)}
    return tuple(_with_comparable(target, types) for target in listed)


def _with_comparable(target: Target, types: Mapping[str, Mapping[str, str]]) -> Target:
    why = {each: _why_not(target, each, types) for each in target.references}
    return replace(
        target,
        references=tuple(each for each, reason in why.items() if not reason),
        not_judged=(*target.not_judged, *(reason for reason in why.values() if reason)),
    )


def _why_not(target: Target, to: Reference, types: Mapping[str, Mapping[str, str]]) -> str:
    """Why a reference cannot be judged; empty where it can."""
    mine = _kinds(types[target.relation], to.columns)
    other = _kinds(types[to.relation], to.referenced)
    for name, kind, there, other_kind in zip(to.columns, mine, to.referenced, other, strict=True):
        if _comparable(kind, other_kind):
            continue
        said = f"foreign key {', '.join(to.columns)} → {to.silver}: "
        if not kind or not other_kind:
            return said + f"silver has no column {there if kind else name}"
        return said + f"{name} is {kind} and {there} is {other_kind}, which cannot be compared"
    return ""


def _kinds(types: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """The types of some columns, found in any case; empty for one that is not there."""
    known = {name.lower(): kind for name, kind in types.items()}
    return [known.get(name.lower(), "") for name in names]


def types_of(session: SparkSession, relation: str) -> dict[str, str]:
    """Column → Spark type of a table."""
    schema = session.table(relation).schema
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def _comparable(kind: str, other: str) -> bool:
    return bool(kind) and (kind == other or {kind, other} <= _WHOLE_NUMBERS)


def _present(names: Sequence[str]) -> str:
    return all_of(f"{quote_ident(name)} IS NOT NULL" for name in names)


def _value(name: str, kind: str) -> str:
    column = quote_ident(name)
    if kind in _WHOLE_NUMBERS:
        return f"bigint({column})"
    return f"lower(rtrim({column}))" if kind == "string" else column
