"""Rebuild: which tables are made again from bronze, or given back by the undoing of one.

In: the request and the published cuts. Out: the tables, or the reason why a rebuild is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity, format_table, parse_table
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.cuts.published import excluded_of, identities_of, replaced_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow

# How the branches of rebuilds begin, and the tags of what they have replaced.
REBUILDING, UNDO = "rebuild_", "undo_"


@dataclass(frozen=True, slots=True)
class Rebuild:
    """What a person asks for.

    Attributes:
        tables: Source tables as the TOML file names them; none for all of the source.
        undo: Whether the newest rebuild is taken back instead.
    """

    tables: tuple[str, ...] = ()
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """What the batch of one table builds on.

    Attributes:
        columns: Silver's columns before the batch, name → Spark type; empty for no table.
        start: Where the table's events begin.
        applied: Position up to which the table is applied; empty where that is unknown.
        held: How many of its keys wait for a quarantined event.
        base: The ref of its tables whose rows it builds on.
        is_empty: Whether it begins without a row, whatever silver has.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    start: Progress = field(default_factory=Progress)
    applied: str = ""
    held: int = 0
    base: str = MAIN
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The tables of a rebuild.

    Attributes:
        tables: Silver table → its source table of today.
        left: Silver table → why it stays as it is.
    """

    tables: Mapping[str, TableIdentity]
    left: Mapping[str, str] = field(default_factory=dict)


def choose(cut: CutRow, rebuild: Rebuild, connector: str) -> Choice:
    """The tables that are rebuilt to a cut.

    Raises:
        StepFailed: A table that was asked for is unknown, or stays behind the cut, or none is left.
    """
    return granted(cut.source, candidates(cut, rebuild.tables, connector), rebuild)


def candidates(cut: CutRow, named: Sequence[str], connector: str) -> Choice:
    """The tables of a cut that may be made again.

    Args:
        cut: The cut.
        named: Source tables as the TOML file names them; none for all of the source.
        connector: Its name.

    Raises:
        StepFailed: A table that was named is unknown.
    """
    behind = excluded_of(cut)
    known = {
        name: TableIdentity.of(parts)
        for name, parts in identities_of(cut).items()
        if not RETIRED.search(name)
    }
    wanted = [_named(text, known, connector) for text in named] or sorted(known)
    left = {
        name: f"it is behind the cut: {behind[name].reason}" for name in wanted if name in behind
    }
    return Choice({name: known[name] for name in wanted if name not in left}, left)


def granted(source: str, choice: Choice, rebuild: Rebuild) -> Choice:
    """The choice, if a rebuild of it makes sense.

    Raises:
        StepFailed: A table that was asked for has to stay as it is, or every table.
    """
    if choice.left and (rebuild.tables or not choice.tables):
        told = "; ".join(f"{name}: {reason}" for name, reason in sorted(choice.left.items()))
        raise StepFailed(
            f"Source {source!r}: {told}: expected tables that today's TOML file and schema fit; "
            "nothing was replaced; see `lakehouse tables`, then do the rebuild again"
        )
    if not choice.tables:
        raise StepFailed(
            f"Source {source!r}: no table is published: expected some; "
            f"do `lakehouse run --source {source}` first"
        )
    return choice


def _named(text: str, known: Mapping[str, TableIdentity], connector: str) -> str:
    parts = parse_table(text, connector).parts(connector)
    found = [name for name, table in known.items() if table.parts(connector) == parts]
    if found:
        return found[0]
    there = ", ".join(sorted(format_table(table, connector) for table in known.values()))
    raise StepFailed(
        f"Table {text!r}: not in the newest cut: expected one of {there or 'none yet'}"
    )


def rebuild_to_undo(source: str, cuts: Iterable[CutRow]) -> tuple[CutRow, CutRow | None]:
    """The newest cut of a rebuild, and the one before it.

    Args:
        source: Its name.
        cuts: The published ones, oldest first.

    Raises:
        StepFailed: None is recorded.
    """
    before: CutRow | None = None
    found: tuple[CutRow, CutRow | None] | None = None
    for cut in cuts:
        if replaced_of(cut):
            found = (cut, before)
        before = cut
    if found is None:
        raise StepFailed(
            f"Source {source!r}: no rebuild is published: expected one that can be undone"
        )
    return found
