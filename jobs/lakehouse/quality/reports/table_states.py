"""What the control tables say of the silver tables of a cut, and of those that it leaves behind.

In: rows of `quality.cuts` and `schema_versions`. Out: values that the command `tables` prints and
pages show. No Spark.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterable
from dataclasses import dataclass

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity, format_table
from lakehouse.plan.cuts.published import excluded_of, held_of, identities_of
from lakehouse.plan.cuts.stale import stale_of, told
from lakehouse.plan.records import CutRow, SchemaVersionRow
from lakehouse.spark.control.ledger import Ledger

# A state of a table whose older rows may differ from the source.
NEEDS_SNAPSHOT = "needs snapshot"


@dataclass(frozen=True, slots=True)
class TableState:
    """One silver table of a cut, as `lakehouse tables` prints it.

    Attributes:
        identity: All parts of the source table's name, joined by dots.
        table: The source table as TOML files and `--table` name it.
        state: `live`, `needs snapshot`, `held` or `retired`.
        reason: Why it is held, or which columns of older rows may differ from the source, and the
            command that reads them again.
        cut_id: The newest cut whose rows the table has.
        snapshot_id: None before the table's first cut.
        held_keys: How many of its keys wait for a quarantined event.
    """

    identity: str
    table: str
    silver: str
    state: str
    reason: str
    cut_id: str
    snapshot_id: int | None
    held_keys: int = 0


def list_tables(
    ledger: Ledger, source: str, connector: str, cut_id: str | None
) -> tuple[TableState, ...]:
    """The silver tables of a published cut, and those that it leaves behind.

    Args:
        ledger: The control tables.
        source: The source.
        connector: Its connector.
        cut_id: The cut; None for the newest.

    Raises:
        StepFailed: The source has no such cut.
    """
    cuts = [cut for cut in ledger.cuts(source) if cut.state == "published"]
    cut = next((c for c in reversed(cuts) if cut_id in (None, c.cut_id)), None)
    if cut is None:
        which = f"cut {cut_id!r} is not published" if cut_id else "no cut is published yet"
        known = (
            f"one of its cuts, of which the newest is {cuts[-1].cut_id}"
            if cuts
            else f"a run that ends well; do `lakehouse run --source {source}`"
        )
        raise StepFailed(f"Source {source!r}: {which}: expected {known}")
    return table_states(cut, connector, ledger.schema_versions(source))


def table_states(
    cut: CutRow, connector: str, versions: Iterable[SchemaVersionRow]
) -> tuple[TableState, ...]:
    """The silver tables of a published cut, and those that it leaves behind.

    Args:
        cut: The cut.
        connector: Of its source.
        versions: The recorded schema versions of the source.
    """
    behind, identities = excluded_of(cut), _identities(cut, versions)
    names, held = sorted({*identities_of(cut), *behind}), held_of(cut)
    unread = _unread(cut, connector)
    return tuple(
        TableState(
            identity=identities[name].full_name if name in identities else "",
            table=format_table(identities[name], connector) if name in identities else "",
            silver=name,
            state=_state(name, behind, unread),
            reason=behind[name].reason if name in behind else unread.get(name, ""),
            cut_id=behind[name].cut if name in behind else cut.cut_id,
            snapshot_id=cut.tables.get(name),
            held_keys=held.get(name, 0),
        )
        for name in names
    )


def _state(name: str, behind: Container[str], unread: Container[str]) -> str:
    if RETIRED.search(name):
        return "retired"
    if name in behind:
        return "held"
    return NEEDS_SNAPSHOT if name in unread else "live"


def _unread(cut: CutRow, connector: str) -> dict[str, str]:
    """Silver table → which of its columns wait for a snapshot, and the command."""
    known = identities_of(cut)
    tables = {name: format_table(TableIdentity.of(known[name]), connector) for name in known}
    command = f"`lakehouse signal --source {cut.source} snapshot --table {{}}`"
    if not CONNECTORS[connector].signals:
        command = "its connector reads no table again on demand; capture the table anew"
    return {
        name: f"{told(marks)}: {command.format(shlex.quote(tables[name]))}"
        for name, marks in stale_of(cut).items()
        if name in tables
    }


def _identities(cut: CutRow, versions: Iterable[SchemaVersionRow]) -> dict[str, TableIdentity]:
    found = {f"silver_{row.source}.{row.table}": row.identity for row in versions}
    members = {name: json.loads(text) for name, text in found.items()} | dict(identities_of(cut))
    return {name: TableIdentity.of(parts) for name, parts in members.items()}
