"""What a published cut says: its tables, those that it leaves behind, the names that it changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.names import TableIdentity
from lakehouse.plan.progress import Progress, lowest
from lakehouse.plan.records import CutRow


@dataclass(frozen=True, slots=True)
class Excluded:
    """A table that the cut leaves behind, at its own last cut."""

    cut: str
    reason: str
    offsets: str


@dataclass(frozen=True, slots=True)
class Renaming:
    """Columns of one silver table that `publish` renames, and then those that it drops.

    Attributes:
        columns: Old and new names, in order.
        position: Where the last of them stands; empty for none.
        dropped: Those that leave the table.
    """

    columns: tuple[tuple[str, str], ...]
    position: str
    dropped: tuple[str, ...] = ()


def renames_of(text: str) -> dict[str, Renaming]:
    """The columns that are renamed or go in the JSON text of a cut: silver table → columns."""
    return {
        name: Renaming(
            tuple((was, new) for was, new in entry["columns"]),
            entry["position"],
            tuple(entry.get("dropped", ())),
        )
        for name, entry in json.loads(text or "{}").items()
    }


def excluded_of(cut: CutRow | None) -> dict[str, Excluded]:
    """The tables that a cut left behind."""
    if cut is None or not cut.excluded:
        return {}
    return {name: Excluded(**entry) for name, entry in json.loads(cut.excluded).items()}


def own_cut(cut: CutRow | None, silver: str) -> str:
    """The newest cut that has all of a table up to then; empty for none."""
    behind = excluded_of(cut).get(silver)
    return behind.cut if behind else cut.cut_id if cut else ""


def held_of(cut: CutRow | None) -> dict[str, int]:
    """Silver table → how many of its keys wait for a quarantined event; those with some."""
    if cut is None or not cut.held:
        return {}
    return {name: int(count) for name, count in json.loads(cut.held).items()}


def identities_of(cut: CutRow | None) -> dict[str, tuple[str | int | None, ...]]:
    """Silver table → source table, as far as the cut knows them."""
    if cut is None or not cut.identities:
        return {}
    return {name: tuple(parts) for name, parts in json.loads(cut.identities).items()}


def waiting_cuts(cuts: Iterable[CutRow]) -> list[CutRow]:
    """The cuts that were announced and may still be published.

    A run that lost its lease right before it announced one announces it behind a later cut, which
    has its messages: such a cut is nobody's.

    Args:
        cuts: All states of all cuts of a source, in the order of their ids.
    """
    rows = list(cuts)
    newest = max((row.cut_id for row in rows if row.state == "published"), default="")
    return [row for row in rows if row.cut_id > newest]


def replaced_of(cut: CutRow | None) -> dict[str, int]:
    """Iceberg table → the snapshot of `main` whose place its snapshot in the cut takes."""
    if cut is None or not cut.replaced:
        return {}
    return {name: int(snapshot) for name, snapshot in json.loads(cut.replaced).items()}


def published_names(cut: CutRow | None) -> dict[TableIdentity, str]:
    """Source table → the name of its silver table inside the namespace, as the cut has them."""
    return {
        TableIdentity.of(parts): name.rpartition(".")[2]
        for name, parts in identities_of(cut).items()
    }


def start_of_batch(cut: CutRow | None) -> Progress:
    """Where the batch after a cut begins: at the cut, or where a table stayed behind it."""
    progress = Progress.from_json(cut.offsets if cut else "")
    return lowest(progress, [Progress.from_json(t.offsets) for t in excluded_of(cut).values()])
