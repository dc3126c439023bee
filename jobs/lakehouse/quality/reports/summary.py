"""What the control tables say about a run's validation, and about the tables of a cut.

In: rows of `quality.runs`, `results`, `cuts` and `schema_versions`. Out: values that the commands
`report` and `tables` print. No Spark.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity, format_table
from lakehouse.plan.cuts.published import excluded_of, held_of, identities_of
from lakehouse.plan.cuts.stale import stale_of, told
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import (
    CUTS,
    FULL,
    QUARANTINE,
    RESULTS,
    RUNS,
    STEPS,
    CutRow,
    QuarantineRow,
    ResultRow,
    RunRow,
    SchemaVersionRow,
)
from lakehouse.plan.remaking.replay import open_rows
from lakehouse.quality.reports.outcome import SUCCEEDED, quarantined
from lakehouse.quality.reports.report import Report
from lakehouse.quality.reports.run_report import run_report, steps_of, unchanged
from lakehouse.spark.control.ledger import Ledger

# A run has five steps, and a row for each try of one.
_RECENT_ROWS = 200
_QUARANTINE_ROWS = 20_000
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


@dataclass(frozen=True, slots=True)
class Recent:
    """What the newest rows of a source tell.

    Attributes:
        runs: Its newest steps, oldest first; those of the oldest run may be missing.
        cut: Its newest published cut.
    """

    runs: tuple[RunRow, ...]
    cut: CutRow | None


def read_recent(ledger: Ledger, source: str) -> Recent:
    """The newest runs and the newest cut of a source, whatever its age."""
    runs = ledger.newest(RUNS, _RECENT_ROWS, source=source)
    cuts = ledger.newest(CUTS, _RECENT_ROWS, source=source)
    published = [row for row in cuts if isinstance(row, CutRow) and row.state == "published"]
    return Recent(
        tuple(row for row in runs if isinstance(row, RunRow) and row.step in STEPS),
        max(published, key=lambda row: row.cut_id, default=None),
    )


def summarise_validation(ledger: Ledger, source: str, cut_id: str | None) -> Report:
    """The report of the run that validated a cut, or of the newest that validated or failed.

    Raises:
        StepFailed: Nothing was validated, or not this cut.
    """
    recent = read_recent(ledger, source)
    if cut_id is not None:
        recent = replace(recent, runs=tuple(ledger.runs(source)))
    found = [row for row in recent.runs if _is_told(row) and cut_id in (None, _cut_of(row))]
    if not found:
        known = max(map(_cut_of, recent.runs), default="")
        why = f"nothing was validated yet; do `lakehouse run --source {source}`"
        if cut_id and known:
            why = f"cut {cut_id!r} was never validated: expected one that was, as {known!r}"
        raise StepFailed(f"Source {source!r}: {why}")
    return report_of(ledger, source, found[-1].run_id, recent)


def report_of(ledger: Ledger, source: str, run_id: str, recent: Recent) -> Report:
    """The report of one run, which has a row at least among the recent ones."""
    found = ledger.rows(RESULTS, source=source, run_id=run_id)
    results = [row for row in found if isinstance(row, ResultRow)]
    published = sorted(identities_of(recent.cut))
    steps = steps_of(recent.runs, run_id)
    set_aside = ledger.rows(QUARANTINE, source=source, run_id=run_id) if quarantined(steps) else []
    rows = [row for row in set_aside if isinstance(row, QuarantineRow)]
    report = run_report(steps, results, published, rows)
    return replace(report, notes=(*report.notes, *unchanged(recent.runs, run_id)))


def open_quarantine(
    ledger: Ledger, source: str, cut: CutRow | None
) -> tuple[tuple[QuarantineRow, ...], bool]:
    """The messages that cannot be applied and wait for a replay, by place; those of every run.

    Args:
        ledger: The control tables.
        source: The source.
        cut: Its newest cut: what is behind it a run still judges itself.

    Returns:
        The messages, and whether they are all: older ones than the newest rows tell are not read.
    """
    applied = Progress.from_json(cut.offsets if cut else "").offsets
    found = ledger.newest(QUARANTINE, _QUARANTINE_ROWS, source=source)
    rows = [row for row in found if isinstance(row, QuarantineRow)]
    return tuple(open_rows(rows, applied).values()), len(rows) < _QUARANTINE_ROWS


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
            f"one of its cuts; the newest is {cuts[-1].cut_id}" if cuts else "a run that ends well"
        )
        raise StepFailed(
            f"Source {source!r}: {which}: expected {known}; do `lakehouse run --source {source}`"
        )
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


def _is_told(row: RunRow) -> bool:
    """Whether there is something to report: a validation, or a step that failed."""
    return row.step == "validate" or (row.step in STEPS and row.status != SUCCEEDED)


def _identities(cut: CutRow, versions: Iterable[SchemaVersionRow]) -> dict[str, TableIdentity]:
    found = {f"silver_{row.source}.{row.table}": row.identity for row in versions}
    members = {name: json.loads(text) for name, text in found.items()} | dict(identities_of(cut))
    return {name: TableIdentity.of(parts) for name, parts in members.items()}


def _cut_of(row: RunRow) -> str:
    """The cut that a row's run made."""
    detail = json.loads(row.detail) if row.step == "validate" else {}
    return str(detail.get("cut_id", "")) if detail.get("scope") != FULL else ""
