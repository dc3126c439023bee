"""How the servers of the stack are ended, by name alone.

Needs nothing but the stack's home: no installed binary, no readable stack.json.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from infra.home import StackHome
from infra.processes import ProcessRecord, end_processes, pids_in_folder, stack_pids

AIRFLOW_DATABASE = "airflow_database"


@dataclass(frozen=True, slots=True)
class StopRule:
    """How one server is asked to end, and how long it may take before it is killed."""

    stop_signal: signal.Signals = signal.SIGTERM
    grace_s: float = 15.0


# PostgreSQL's "fast" shutdown; SIGTERM would wait for its clients to leave.
_POSTGRESQL = StopRule(signal.SIGINT)
_AIRFLOW = (
    "airflow_scheduler",
    "airflow_dag_processor",
    "airflow_triggerer",
    "airflow_api_server",
    "airflow_migration",
)
STOP_RULES = {
    **dict.fromkeys(_AIRFLOW, StopRule()),
    "connect": StopRule(),
    "kafka": StopRule(),
    "mysql": StopRule(),
    "mariadb": StopRule(),
    "postgresql": _POSTGRESQL,
    AIRFLOW_DATABASE: _POSTGRESQL,
}
# Whoever uses a server ends before it.
_WAVES = (
    (*_AIRFLOW, "connect"),
    ("kafka", "mysql", "mariadb", "postgresql", AIRFLOW_DATABASE),
)


def end_server(
    home: StackHome, name: str, record: ProcessRecord | None, *, grace_s: float | None = None
) -> None:
    """End a server with all that it started.

    Args:
        home: The stack's home.
        name: The server's name.
        record: Its process if it is known; unknown ones are found by their mark.
        grace_s: Time before it is killed; None means that of its rule.
    """
    rule = STOP_RULES[name]
    stack_id = home.stack_id()
    end_processes(
        () if record is None else (record,),
        lambda: stack_pids(stack_id, name),
        # PostgreSQL's processes lose the mark, see pids_in_folder.
        lambda: pids_in_folder(home.data(name), "postgres"),
        stop_signal=rule.stop_signal,
        grace_s=rule.grace_s if grace_s is None else grace_s,
    )


def end_servers(
    home: StackHome,
    records: Sequence[ProcessRecord],
    names: Sequence[str],
    report: Callable[[str], None],
) -> None:
    """End servers, those that use others first; the rest at the same time."""
    known = {record.server: record for record in records}
    with ThreadPoolExecutor(max_workers=len(STOP_RULES)) as pool:
        for wave in _WAVES:
            chosen = [name for name in wave if name in names]
            for name, _ in zip(
                chosen,
                pool.map(lambda name: end_server(home, name, known.get(name)), chosen),
                strict=True,
            ):
                report(f"{name} stopped")


def living_servers(home: StackHome) -> dict[str, set[int]]:
    """The servers that have any process left, with the ids of these processes."""
    stack_id = home.stack_id()
    found = {
        name: stack_pids(stack_id, name) | pids_in_folder(home.data(name), "postgres")
        for name in STOP_RULES
    }
    return {name: pids for name, pids in found.items() if pids}
