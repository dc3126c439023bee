"""Commands that show what is known without running anything: report, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lakehouse.cli.steps import Source
from lakehouse.config import Settings, load_source
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.plan.losses import Loss, LossClass
from lakehouse.plan.records import QuarantineRow
from lakehouse.quality.losses import column_losses
from lakehouse.quality.report import passed_by_suite, shown
from lakehouse.quality.summary import (
    TableState,
    ValidationSummary,
    list_tables,
    open_quarantine,
    summarise_validation,
)
from lakehouse.quality.unseen import unseen_tables
from lakehouse.spark.ledger import Ledger

Cut = Annotated[str | None, typer.Option("--cut", help="A cut's id. Default: the newest one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_MOST_SHOWN = 20
# The counts of the law of conservation, in its order.
_LAW = (
    "landed",
    "pending_before",
    "applied",
    "superseded",
    "quarantined",
    "control",
    "pending_after",
)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(
        "report", help="What validation found. Exit code 0: passed, 1: warnings, 2: critical."
    )(_report)
    app.command("tables", help="The silver tables of a source: name, state, cut, snapshot.")(
        _tables
    )


def _report(source: Source, cut: Cut = None, *, as_json: AsJson = False) -> None:
    settings = Settings.from_environment()
    load_source(source, settings)
    ledger = open_ledger(settings, source)
    summary, waiting = summarise_validation(ledger, source, cut), open_quarantine(ledger, source)
    if as_json:
        document = {**asdict(summary), "verdict": summary.verdict.value}
        document["quarantine"] = [_message(row) for row in waiting]
        typer.echo(json.dumps(document, indent=1))
    else:
        _print_report(summary)
        _print_quarantine(waiting, source)
    raise typer.Exit(summary.verdict.exit_code)


def _tables(source: Source, cut: Cut = None, *, as_json: AsJson = False) -> None:
    settings = Settings.from_environment()
    config, ledger = load_source(source, settings), open_ledger(settings, source)
    states = list_tables(ledger, source, cut)
    recorded = ledger.schema_versions(source)
    losses = column_losses(recorded, source, CONNECTORS[config.connector])
    catalog = without_password(settings.catalog_uri)
    if as_json:
        tables = [{**asdict(s), "columns": _columns(losses.get(s.silver, ()))} for s in states]
        typer.echo(json.dumps({"catalog": catalog, "tables": tables}, indent=1))
        return
    _print_columns(("source table", "silver", "state", "cut", "snapshot", "reason"), _rows(states))
    _print_losses([state.silver for state in states], losses)
    for sentence in unseen_tables(config, recorded):
        typer.echo(shown(sentence))
    typer.echo(f"catalog: {catalog} (warehouse {settings.warehouse})")


def open_ledger(settings: Settings, source: str) -> Ledger:
    """The control tables, for a command that needs what runs have left.

    Raises:
        StepFailed: There is no catalog yet.
    """
    file = Path(settings.catalog_uri.removeprefix("sqlite:///"))
    if settings.catalog_uri.startswith("sqlite:///") and not file.is_file():
        raise StepFailed(
            f"Source {source!r}: no catalog at {file}: expected one that a run has made; do "
            f"`lakehouse run --source {source}`, or set LAKEHOUSE_HOME to where it ran"
        )
    return Ledger(settings)


def _columns(losses: Iterable[Loss]) -> list[dict[str, str]]:
    return [asdict(loss) for loss in losses]


def _print_losses(names: Iterable[str], losses: Mapping[str, Iterable[Loss]]) -> None:
    """The lossy columns, each with the reason and what it is known from."""
    rows = [
        (name, shown(loss.name), shown(loss.reason), loss.fact)
        for name in names
        for loss in losses.get(name, ())
        if loss.loss is LossClass.LOSSY
    ]
    if rows:
        typer.echo("")
        _print_columns(("silver", "lossy column", "what is lost", "known from"), rows)
        typer.echo("")


def without_password(uri: str) -> str:
    """A catalog's address as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", uri)


def _print_report(summary: ValidationSummary) -> None:
    cut = f"cut {summary.cut_id}" if summary.cut_id else "no cut"
    typer.echo(f"{summary.source}, {cut}, run {shown(summary.run_id)}: {summary.verdict.value}")
    typer.echo(shown(summary.message))
    if summary.verdicts:
        typer.echo("")
        _print_columns(
            ("table", "verdict", "passed", "failed"),
            (
                (table, verdict, *_passed(summary, table))
                for table, verdict in sorted(summary.verdicts.items())
            ),
        )
    if summary.findings:
        typer.echo("")
        _print_columns(
            ("suite", "passed", "failed"),
            (
                (suite, str(passed), str(failed))
                for suite, (passed, failed) in passed_by_suite(summary.findings).items()
            ),
        )
    for finding in summary.findings:
        if not finding.success:
            typer.echo(
                f"{finding.severity}: {finding.suite}.{finding.rule} of {shown(finding.subject)}: "
                f"observed {shown(dict(finding.observed))}, expected {finding.expected}. "
                f"{finding.description}"
            )
    if summary.conservation:
        counts = ", ".join(f"{name} {summary.conservation.get(name, 0)}" for name in _LAW)
        typer.echo(f"\nmessages: {counts}")
    if summary.report:
        typer.echo(f"report: {summary.report}")


def _print_quarantine(waiting: Sequence[QuarantineRow], source: str) -> None:
    """The messages that wait, whichever run set them aside."""
    if not waiting:
        return
    typer.echo(f"\nin quarantine: {len(waiting)}; `lakehouse replay --source {source}` tries again")
    rows = [
        (
            f"{row.topic}[{row.partition}] offset {row.offset}",
            shown(row.table) or "-",
            row.reason,
            shown(row.detail),
        )
        for row in waiting[:_MOST_SHOWN]
    ]
    _print_columns(("message", "table", "reason", "detail"), rows)
    if len(waiting) > _MOST_SHOWN:
        typer.echo(f"… and {len(waiting) - _MOST_SHOWN} more in quality.quarantine")


def _message(row: QuarantineRow) -> dict[str, str | int]:
    return {
        "topic": row.topic,
        "partition": row.partition,
        "offset": row.offset,
        "table": row.table,
        "reason": row.reason,
        "detail": row.detail,
    }


def _passed(summary: ValidationSummary, table: str) -> tuple[str, str]:
    mine = [finding for finding in summary.findings if finding.subject == table]
    passed = sum(finding.success for finding in mine)
    return str(passed), str(len(mine) - passed)


def _rows(states: Iterable[TableState]) -> Iterable[Sequence[str]]:
    for state in states:
        snapshot = str(state.snapshot_id) if state.snapshot_id is not None else "-"
        cut = state.cut_id or "-"
        held = f"{state.held_keys} keys held by quarantined events" if state.held_keys else ""
        reason = "; ".join(text for text in (shown(state.reason), held) if text)
        yield (shown(state.identity), state.silver, state.state, cut, snapshot, reason)


def _print_columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(header))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
