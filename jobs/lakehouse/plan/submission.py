"""The arguments of a Spark application, made once for the command line and for the Dags.

In: a source's configuration and a run. Out: script name and arguments, complete and without
secrets, so that the Airflow UI shows all that a run depends on. Master, jars and memory are the
environment's business (`SPARK_CONF_DIR`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lakehouse.config import SourceConfig
from lakehouse.plan.records import Step
from lakehouse.plan.remaking.rebuilding import Rebuild

# A run that judges what another one published; it has no other step.
FULL_RUN = "full__"
# A run that changes no row.
MAINTENANCE_RUN = "maintain__"
RECONCILE_RUN = f"{FULL_RUN}reconcile__"
# A run of the Dag that rebuilds; it lands nothing.
REBUILD_RUN = "rebuild__"
JOBS_FOLDER = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Run:
    """What the arguments of one run say besides the configuration.

    Attributes:
        run_id: None lets the application choose one.
        until: Text, since a Dag passes a template here; ISO 8601 with a zone once rendered.
        started: When this try of the run began; text for the same reason.
        replay: Whether it applies quarantined messages again.
        full: Whether it judges all rows of the newest cut.
        rebuild: What it makes again from bronze; None for nothing.
        since: Where the interval begins whose rows it makes again; empty, once rendered, for none.
        tables: Of such an interval, the source tables as TOML files write them; none for all.
    """

    run_id: str | None = None
    started: str | None = None
    until: str | None = None
    archive: Path | None = None
    from_step: Step | None = None
    land_decides: bool = False
    replay: bool = False
    full: bool = False
    rebuild: Rebuild | None = None
    since: str | None = None
    tables: tuple[str, ...] = ()


def application(step: Step | None) -> Path:
    """The entry script of a step, or of all five (None)."""
    return JOBS_FOLDER / f"{step or 'run'}.py"


def reconcile_application() -> Path:
    """The entry script that compares a source with its silver."""
    return JOBS_FOLDER / "reconciliation.py"


def erasure_application() -> Path:
    """The entry script that erases a subject's rows."""
    return JOBS_FOLDER / "erasure.py"


def rekeying_application() -> Path:
    """The entry script that lets silver follow a changed primary key."""
    return JOBS_FOLDER / "rekeying.py"


def arguments(source: SourceConfig, run: Run) -> list[str]:
    """The application's arguments."""
    given = {
        "--config": source.for_jobs(),
        "--run-id": run.run_id,
        "--run-started": run.started,
        "--until": run.until,
        "--archive": str(run.archive.absolute()) if run.archive else None,
        "--from-step": run.from_step,
    }
    pairs = [text for name, value in given.items() if value for text in (name, value)]
    flags = {
        "--land-decides": run.land_decides,
        "--replay": run.replay,
        "--full": run.full,
    }
    # With = no value is taken for an option, and an empty one is not lost.
    since = [f"--from={run.since}"] if run.since else []
    tables = [f"--table={text}" for text in run.tables]
    on = [name for name, is_on in flags.items() if is_on]
    return [*pairs, *since, *tables, *on, *asked(run.rebuild)]


def asked(rebuild: Rebuild | None) -> list[str]:
    """The application's arguments that say what is rebuilt."""
    if rebuild is None:
        return []
    # With = no value is taken for an option.
    tables = [f"--table={text}" for text in rebuild.tables]
    return ["--rebuild", *tables, *(["--undo"] if rebuild.undo else [])]


def reconciliation(
    source: SourceConfig, run: Run, tables: Iterable[str], *, repair: bool
) -> list[str]:
    """The arguments of the application that compares a source with its silver.

    Args:
        source: The source.
        run: Its id and its start.
        tables: As TOML files write them; none means all.
        repair: Whether what differs is repaired.
    """
    flags = ["--repair"] if repair else []
    return [*arguments(source, run), *(f"--table={table}" for table in tables), *flags]


def approval(
    source: str, *, table: str, action: str, renames: Iterable[str], person: str
) -> list[str]:
    """The arguments of the console command that records a decision about a held table.

    Args:
        source: Its name.
        table: As in the TOML file.
        action: `approve` or `reject`.
        renames: Columns that were renamed, each as `old=new`.
        person: Who decides.
    """
    given = {"--source": source, "--table": table, "--by": person}
    # With = no value is taken for an option.
    pairs = [f"{name}={value}" for name, value in given.items()]
    flags = ["--reject"] if action == "reject" else []
    return ["approve", *pairs, *flags, *(f"--rename={text}" for text in renames)]


def iso(time: datetime | None) -> str | None:
    """A time as the applications read it."""
    return time.isoformat() if time else None
