"""What commands read of the control tables before Spark starts, which takes its time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import StepFailed
from lakehouse.plan.records import RUNS, RunRow
from lakehouse.plan.remaking.rebuilding import candidates
from lakehouse.plan.submission import Run
from lakehouse.plan.topics.archive import listed_files
from lakehouse.plan.tuning import LANDINGS, archived_messages, expected_messages

if TYPE_CHECKING:
    from lakehouse.spark.control.ledger import Ledger


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
    # What reads tables takes a second to import; a first run does without it.
    from lakehouse.spark.control.ledger import Ledger  # noqa: PLC0415

    return Ledger(settings)


def refuse_unknown(settings: Settings, source: SourceConfig, tables: Sequence[str]) -> None:
    """Refuse a table, as in the TOML file, that the newest cut does not have.

    Raises:
        StepFailed: There is one, or no catalog yet.
    """
    cut = open_ledger(settings, source.name).newest_cut(source.name) if tables else None
    if cut is not None:
        candidates(cut, tables, source.connector)


def messages_of(settings: Settings, source: SourceConfig, run: Run) -> int | None:
    """About how many messages a run will parse; None where nothing tells.

    Args:
        settings: Where the control tables are.
        source: The source.
        run: It lands, or it makes tables again from all that has landed.

    Raises:
        ArchiveError: It is to land from a folder that is not there, or has no archive.
    """
    if run.rebuild is not None:
        return None
    if run.archive is not None:
        paths = [file.path for file in listed_files(run.archive)]
        return archived_messages({path: path.stat().st_size for path in paths})
    try:
        ledger = open_ledger(settings, source.name)
        landings = ledger.newest(
            RUNS, LANDINGS, source=source.name, step="land", status="succeeded"
        )
        return expected_messages(row.counts for row in landings if isinstance(row, RunRow))
    except Exception:  # noqa: BLE001 - no run fails for want of a guess; it says what is wrong
        return None
