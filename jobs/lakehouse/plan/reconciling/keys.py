"""What the sides have of a key, and what that makes of it: equal, different, or changed meanwhile.

In: the rows of candidates in the source, in a cut from before that and in one from behind it. Out:
the differences, and the keys that have to be looked at again. The module's rules are in
`lakehouse.plan.reconciling`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lakehouse.plan.reconciling.texts import column_digest, digest

_COLUMN = len(column_digest(b""))


class Fault(StrEnum):
    """How a key of silver differs from the source."""

    MISSING = "missing"
    EXTRA = "extra"
    STALE = "stale"
    """It has other values."""
    REPEATED = "repeated"
    """It has more rows, or fewer, than in the source."""


@dataclass(frozen=True, slots=True)
class KeyState:
    """What one side has of one key.

    Attributes:
        shown: The key for a person, such as `id=5`.
        values: The key's values, as text that its database reads; of the source alone.
        rows: A digest of each row, sorted.
        columns: Digests of the columns of its only row, one behind the other; empty for more rows.
        places: Where silver's rows, or its delete mark, come from, sorted.
    """

    shown: str
    rows: tuple[bytes, ...] = ()
    columns: bytes = b""
    places: tuple[str, ...] = ()
    values: tuple[object, ...] = field(default=(), compare=False)

    @property
    def is_there(self) -> bool:
        """Whether it has a row."""
        return bool(self.rows)


States = Mapping[bytes, KeyState]


@dataclass(frozen=True, slots=True)
class Difference:
    """One key that differs.

    Attributes:
        digest: Names the key.
        key: For a person.
        columns: Names of the columns that differ, for `STALE`.
        values: The key's values, where the source has it.
        places: Where silver's rows come from, where the source has none.
    """

    digest: bytes
    key: str
    fault: Fault
    columns: tuple[str, ...] = ()
    values: tuple[object, ...] = ()
    places: tuple[str, ...] = ()

    def sentence(self) -> str:
        """The difference for a person, without a value of the row."""
        tail = f" ({', '.join(self.columns)})" if self.columns else ""
        return f"{self.key}: {self.fault.value}{tail}"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a round found.

    Attributes:
        found: Keys that differ, by the key.
        open: Keys that changed while they were looked at.
    """

    found: tuple[Difference, ...]
    open: frozenset[bytes]


class StatesBuilder:
    """Collects the rows of keys on one side."""

    def __init__(self) -> None:
        self._shown: dict[bytes, tuple[str, tuple[object, ...]]] = {}
        self._rows: dict[bytes, list[bytes]] = {}
        self._columns: dict[bytes, bytes] = {}
        self._places: dict[bytes, list[str]] = {}

    def add(
        self, key: bytes, shown: str, texts: Iterable[bytes], values: tuple[object, ...] = ()
    ) -> None:
        """Add a row of the source from its texts."""
        found = list(texts)
        columns = b"".join(map(column_digest, found))
        self.add_digests(key, shown, (digest(found), columns), "", values)

    def add_digests(
        self,
        key: bytes,
        shown: str,
        row: tuple[bytes, bytes] | None,
        place: str,
        values: tuple[object, ...] = (),
    ) -> None:
        """Add a row from its digests, or (None) a delete mark."""
        self._shown[key] = (shown, values)
        if row is not None:
            self._rows.setdefault(key, []).append(row[0])
            self._columns[key] = row[1]
        if place:
            self._places.setdefault(key, []).append(place)

    def states(self) -> dict[bytes, KeyState]:
        """What was collected."""
        found = {}
        for key, (shown, values) in self._shown.items():
            rows = tuple(sorted(self._rows.get(key, ())))
            columns = self._columns[key] if len(rows) == 1 else b""
            places = tuple(sorted(self._places.get(key, ())))
            found[key] = KeyState(shown, rows, columns, places, values)
        return found


def candidates(source: States, silver: States) -> frozenset[bytes]:
    """The keys that are not the same on both sides."""
    return frozenset(
        key
        for key in source.keys() | silver.keys()
        if _rows(source.get(key)) != _rows(silver.get(key))
    )


def judge(
    keys: Iterable[bytes], source: States, before: States, behind: States, columns: tuple[str, ...]
) -> Judged:
    """Judge candidates.

    Args:
        keys: The candidates.
        source: What the source had.
        before: What silver had in a cut that was published before the source was read.
        behind: What it has in one that reached the place where the source was read.
        columns: The names of the compared columns.
    """
    found: list[Difference] = []
    again: set[bytes] = set()
    for key in keys:
        here, was, there = source.get(key), before.get(key), behind.get(key)
        if _rows(here) == _rows(there):
            continue
        if _history(was) != _history(there):
            again.add(key)
        else:
            found.append(_difference(key, here, there, columns))
    return Judged(tuple(sorted(found, key=lambda d: d.key)), frozenset(again))


def _rows(state: KeyState | None) -> tuple[bytes, ...]:
    return state.rows if state else ()


def _history(state: KeyState | None) -> tuple[tuple[bytes, ...], tuple[str, ...]]:
    return (state.rows, state.places) if state else ((), ())


def _difference(
    key: bytes, here: KeyState | None, there: KeyState | None, columns: tuple[str, ...]
) -> Difference:
    state = here or there
    shown = state.shown if state else ""
    values = here.values if here and here.is_there else ()
    if here is None or not here.is_there:
        places = there.places if there else ()
        return Difference(key, shown, Fault.EXTRA, places=places)
    if there is None or not there.is_there:
        return Difference(key, shown, Fault.MISSING, values=values)
    if len(here.rows) != len(there.rows):
        return Difference(key, shown, Fault.REPEATED, values=values)
    return Difference(key, shown, Fault.STALE, _differing(here, there, columns), values)


def _differing(here: KeyState, there: KeyState, columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        name
        for index, name in enumerate(columns)
        if here.columns[index * _COLUMN :][:_COLUMN] != there.columns[index * _COLUMN :][:_COLUMN]
    )
