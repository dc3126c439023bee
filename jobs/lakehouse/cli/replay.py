"""The command replay: quarantined messages again, with today's code and TOML file."""

from __future__ import annotations

import typer

from lakehouse.cli._recorded import open_ledger
from lakehouse.cli.steps import RunId, Source, new_run_id, submit
from lakehouse.config import Settings, load_source
from lakehouse.plan.submission import Run


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(
        "replay",
        help="Apply, validate and publish what stands in quarantine and can be applied by now. "
        "Exit code 0: nothing stays open, 1: some messages do, or warnings, 2: critical.",
    )(_replay)


def _replay(source: Source, run_id: RunId = None) -> None:
    settings = Settings.from_environment()
    config = load_source(source, settings)
    open_ledger(settings, source)  # Without a catalog, no JVM has anything to do.
    run = Run(run_id=run_id or new_run_id(), from_step="apply", replay=True)
    raise typer.Exit(submit(None, config, settings, run))
