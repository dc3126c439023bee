"""The command tables: the silver tables of a source, from control tables alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli.report import AsJson, Cut, print_columns
from lakehouse.cli.steps import Source
from lakehouse.config import Settings, load_source
from lakehouse.plan.batches.losses import Loss, LossClass
from lakehouse.plan.cuts.lag_words import held_text
from lakehouse.quality.reports.table_states import TableState, list_tables
from lakehouse.quality.reports.text import shown
from lakehouse.quality.schemas.losses import column_losses
from lakehouse.quality.schemas.unseen import unseen_tables


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("tables", help="The silver tables of a source: name, state, cut, snapshot.")(
        _tables
    )


def _tables(source: Source, cut: Cut = None, *, as_json: AsJson = False) -> None:
    settings = Settings.from_environment()
    config, ledger = load_source(source, settings), open_ledger(settings, source)
    states = list_tables(ledger, source, config.connector, cut)
    recorded = ledger.schema_versions(source)
    losses = column_losses(recorded, config)
    catalog = without_password(settings.catalog_uri)
    if as_json:
        tables = [{**asdict(s), "columns": _columns(losses.get(s.silver, ()))} for s in states]
        typer.echo(json.dumps({"catalog": catalog, "tables": tables}, indent=1))
        return
    print_columns(("source table", "silver", "state", "cut", "snapshot", "reason"), _rows(states))
    _print_losses([state.silver for state in states], losses)
    for sentence in unseen_tables(config, recorded):
        typer.echo(shown(sentence))
    typer.echo(f"catalog: {catalog} (warehouse {settings.warehouse})")


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
        print_columns(("silver", "lossy column", "what is lost", "known from"), rows)
        typer.echo("")


def without_password(uri: str) -> str:
    """A catalog's address as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", uri)


def _rows(states: Iterable[TableState]) -> Iterable[Sequence[str]]:
    for state in states:
        snapshot = str(state.snapshot_id) if state.snapshot_id is not None else "-"
        cut = state.cut_id or "-"
        parts = (shown(state.reason), held_text(state.held_keys))
        reason = "; ".join(text for text in parts if text)
        yield (shown(state.table), state.silver, state.state, cut, snapshot, reason)
