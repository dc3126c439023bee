"""The command report: what became of a run, from control tables alone; its pages are made anew."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli.steps import Source
from lakehouse.config import Settings, load_source
from lakehouse.plan.cuts.lag_words import number_text
from lakehouse.plan.records import QuarantineRow
from lakehouse.quality.pages.writing import write_source_page
from lakehouse.quality.reports.report import Report, ReportFinding, passed_by_suite
from lakehouse.quality.reports.report_files import write_report
from lakehouse.quality.reports.summary import open_quarantine, read_recent, summarise_validation
from lakehouse.quality.reports.text import shown
from lakehouse.spark.sql import messages_query

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
    """Add the command to the application."""
    app.command(
        "report", help="What validation found. Exit code 0: passed, 1: warnings, 2: critical."
    )(_report)


def _report(source: Source, cut: Cut = None, *, as_json: AsJson = False) -> None:
    settings = Settings.from_environment()
    config, ledger = load_source(source, settings), open_ledger(settings, source)
    report, recent = summarise_validation(ledger, source, cut), read_recent(ledger, source)
    waiting, is_whole = open_quarantine(ledger, source, recent.cut)
    page = write_report(settings.home, report)
    of_source = write_source_page(settings.home, ledger, source, config.connector, recent)
    if as_json:
        document = {**asdict(report), "report": str(page), "page": str(of_source)}
        document["quarantine"] = [_message(row) for row in waiting]
        typer.echo(json.dumps(document, indent=1))
    else:
        _print_report(report)
        typer.echo(f"report: {page}")
        typer.echo(f"data quality of the source: {of_source}")
        _print_quarantine(waiting, source, is_whole=is_whole)
    raise typer.Exit(report.verdict.exit_code)


def _print_report(report: Report) -> None:
    cut = f"cut {report.cut_id}" if report.cut_id else "no cut"
    typer.echo(f"{report.source}, {cut}, run {shown(report.run_id)}: {report.verdict}")
    typer.echo(shown(report.message))
    _print_part(
        ("step", "status", "seconds", "outcome"),
        ((s.step, s.status, f"{s.seconds:.1f}", shown(s.message)) for s in report.steps),
    )
    for note in report.notes:
        typer.echo(f"finding: {shown(note)}")
    if report.not_validated:
        typer.echo(f"\nnot validated: {shown(', '.join(report.not_validated))}")
    _print_part(
        ("table", "verdict", "passed", "failed"),
        ((table.silver, table.verdict, *_passed(report, table.silver)) for table in report.tables),
    )
    _print_part(
        ("suite", "passed", "failed"),
        (
            (suite, str(passed), str(failed))
            for suite, (passed, failed) in passed_by_suite(report.findings).items()
        ),
    )
    for finding in report.failed:
        _print_finding(finding, report.source)
    if report.conservation:
        counts = ", ".join(f"{name} {report.conservation.get(name, 0)}" for name in _LAW)
        typer.echo(f"\nmessages: {counts}")


def _print_finding(finding: ReportFinding, source: str) -> None:
    """What did not pass, the rows for which it did not, and how their messages are found."""
    typer.echo(
        f"{finding.severity}: {finding.suite}.{finding.rule} of {shown(finding.subject)}: "
        f"{shown(finding.problem) or 'observed ' + shown(dict(finding.observed))}, "
        f"expected {finding.expected}. {finding.description}"
    )
    for sample in finding.samples:
        places = ", ".join(f"{topic}[{n}] offset {offset}" for topic, n, offset in sample.messages)
        typer.echo(f"  {shown(sample.key) or 'no key'}: {places or 'no message'}")
    if finding.messages:
        typer.echo(f"  all their messages: {messages_query(source, finding.messages)}")


def _print_part(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table of the report, unless it is empty."""
    listed = list(rows)
    if listed:
        typer.echo("")
        print_columns(header, listed)


def _print_quarantine(waiting: Sequence[QuarantineRow], source: str, *, is_whole: bool) -> None:
    """The messages that wait, whichever run set them aside."""
    if not waiting:
        return
    count = number_text(len(waiting), is_whole=is_whole)
    typer.echo(f"\nin quarantine: {count}; `lakehouse replay --source {source}` tries again")
    rows = [
        (
            f"{row.topic}[{row.partition}] offset {row.offset}",
            shown(row.table) or "-",
            row.reason,
            shown(row.detail),
        )
        for row in waiting[:_MOST_SHOWN]
    ]
    print_columns(("message", "table", "reason", "detail"), rows)
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


def _passed(report: Report, table: str) -> tuple[str, str]:
    mine = [finding for finding in report.findings if finding.subject == table]
    passed = sum(finding.counts_as_passed for finding in mine)
    return str(passed), str(len(mine) - passed)


def print_columns(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows below their header, each column as wide as its widest cell."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(len(line[index]) for line in lines) for index in range(len(header))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
