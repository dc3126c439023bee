"""The command maintain: compaction, expiry and clean-up, with the figures before and after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

from lakehouse.cli._submitting import INTERRUPTED
from lakehouse.cli.report import print_columns
from lakehouse.cli.steps import new_run_id, submit
from lakehouse.config import Settings, SourceConfig, load_source, load_sources
from lakehouse.plan.records import MAINTAIN
from lakehouse.plan.submission import MAINTENANCE_RUN, Run
from lakehouse.plan.upkeep.compacting import Maintained
from lakehouse.quality.reports.text import shown
from lakehouse.spark.control.ledger import Ledger

_HEADER = ("table", "data files", "delete files", "bytes", "snapshots", "removed", "note")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        MAINTAIN,
        help="Merge small files, forget old snapshots, remove leftovers; no row changes. "
        "Exit code 0: all tables are maintained, 1: some are not.",
    )(_maintain)


def _maintain(
    source: Annotated[
        str | None, typer.Option("--source", help="Its tables alone. Default: every source.")
    ] = None,
) -> None:
    settings = Settings.from_environment()
    sources = load_sources(settings) if source is None else [load_source(source, settings)]
    codes = []
    for config in sources:
        codes.append(_maintain_one(config, settings))
        if codes[-1] == INTERRUPTED:
            break
    raise typer.Exit(max(codes, default=0))


def _maintain_one(config: SourceConfig, settings: Settings) -> int:
    run_id = new_run_id(MAINTENANCE_RUN)
    code = submit(MAINTAIN, config, settings, Run(run_id=run_id))
    row = Ledger(settings).newest_run(config.name, MAINTAIN, run_id)
    tables = json.loads(row.detail).get("tables", []) if row else []
    if tables:
        print_columns(_HEADER, _rows(map(Maintained.from_detail, tables)))
    return code


def _rows(tables: Iterable[Maintained]) -> Iterable[Sequence[str]]:
    for table in tables:
        before, after = table.before, table.after or table.before
        names = ("files", "deletes", "size", "snapshots")
        figures = (f"{getattr(before, n):,} → {getattr(after, n):,}" for n in names)
        note = shown(table.error and f"failed: {table.error}") or "; ".join(table.notes)
        yield (table.table, *figures, f"{table.removed:,}", note)
