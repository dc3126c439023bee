"""The demonstration, from an empty folder to published tables that equal their databases.

The stack starts; as soon as a source's connector runs its workload begins, while Airflow still
starts. At each barrier the workload rests, the source is read, a run is triggered through
Airflow, and what it published is compared with the database.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape

from infra.airflow_api import AirflowApi, DagRun, log_in
from infra.clients import run_sql
from infra.connect_api import ConnectApi
from infra.demo.barrier import Barrier
from infra.demo.compare import compare_source
from infra.demo.display import (
    show_airflow,
    show_command,
    show_comparisons,
    show_failure,
    show_outcomes,
)
from infra.demo.home import SOURCES, alone, clear, demo_settings, write_sources
from infra.demo.outcome import load_outcome
from infra.demo.workload import PHASES, load_phase
from infra.errors import NotReady, StackError
from infra.home import StackHome
from infra.stack import running_stack
from infra.state import StackState, read_state
from lakehouse.config import Settings, SourceConfig, load_source
from lakehouse.spark.control.ledger import Ledger

_POLL_S = 0.2
_CONNECTOR_DEADLINE_S = 300
_EQUAL = "[bold green]Silver equals the databases"


@dataclass(slots=True)
class Demo:
    """One demonstration; its sources work side by side.

    Attributes:
        settings: Those of its own home, see `infra.demo.home`.
        cancelled: Ends every wait.
        runs: Source → its newest run.
    """

    settings: Settings
    console: Console
    cancelled: threading.Event = field(default_factory=threading.Event)
    runs: dict[str, DagRun] = field(default_factory=dict)
    _begun: float = field(default_factory=time.monotonic)
    _barriers: dict[str, Barrier] = field(default_factory=dict)

    def say(self, line: str) -> None:
        """Print a line with the seconds since the beginning."""
        seconds = time.monotonic() - self._begun
        self.console.print(f"[dim]{seconds:6.1f} s[/]  {escape(line)}", soft_wrap=True)

    def open_source(self, name: str) -> None:
        """Wait for a source's connector, then run the first phase up to its barrier."""
        source = load_source(name, self.settings)
        state = self._await_connector(name)
        barrier = Barrier(source, state.sources[name], str(state.kafka), self.cancelled)
        self._barriers[name] = barrier
        seconds = barrier.pass_one()
        self.say(f"{name}: source snapshot read, {seconds:.1f} s after its connector ran")
        self.run_phase(name, PHASES[0])

    def run_phase(self, name: str, phase: int) -> None:
        """Run a phase of the workload, then wait until the source is read."""
        barrier = self._barriers[name]
        transactions = load_phase(name, phase)
        run_sql(barrier.database, *(f"BEGIN;\n{one.sql}\nCOMMIT" for one in transactions))
        seconds = barrier.pass_one()
        self.say(
            f"{name}: phase {phase} of {len(PHASES)}, {len(transactions)} transactions; "
            f"read {seconds:.1f} s after the last one"
        )

    def publish_and_compare(self, api: AirflowApi, phase: int) -> bool:
        """Trigger a run of every source, and compare what they published.

        Returns:
            Whether all runs published, every table is equal and every message has its place.
        """
        self.say(f"runs of phase {phase} triggered; Spark starts in each, which takes a while")
        triggered = [api.trigger(f"ingest_{name}", f"demo_{phase}") for name in SOURCES]
        ended = {run.dag_id: run for run in api.await_end(triggered, self.say)}
        self.runs = {name: ended[f"ingest_{name}"] for name in SOURCES}
        ledger = Ledger(self.settings)
        outcomes = [load_outcome(ledger, name, run.run_id) for name, run in self.runs.items()]
        published = all(outcome.is_published for outcome in outcomes)
        self.say(f"runs of phase {phase} {'published' if published else 'did not all publish'}")
        for outcome in outcomes:
            if self.runs[outcome.source].state != "success":
                show_failure(self.console, self.runs[outcome.source], outcome)
        comparisons = {
            outcome.source: compare_source(
                self._source(outcome.source),
                self._barriers[outcome.source].database,
                ledger.catalog,
                outcome.cut,
            )
            for outcome in outcomes
        }
        show_comparisons(self.console, comparisons)
        show_outcomes(self.console, outcomes)
        return (
            published
            and all(run.state == "success" for run in self.runs.values())
            and all(outcome.is_conserved for outcome in outcomes)
            and all(row.is_equal for rows in comparisons.values() for row in rows)
        )

    def _source(self, name: str) -> SourceConfig:
        return self._barriers[name].source

    def _await_connector(self, name: str) -> StackState:
        deadline = time.monotonic() + _CONNECTOR_DEADLINE_S
        while not self.cancelled.wait(_POLL_S) and time.monotonic() < deadline:
            state = read_state(StackHome(self.settings.home))
            if name in state.sources and state.connect and state.kafka:
                try:
                    if ConnectApi(state.connect).status(name).is_running:
                        return state
                except NotReady:
                    continue
        raise StackError(f"Connector {name!r}: expected it to run; see the lines above")


def run_demo(settings: Settings, *, keep: bool) -> int:
    """Run the demonstration.

    Args:
        settings: Names the folder below which the demonstration has its own home.
        keep: Stay up until Ctrl-C once all is equal.

    Returns:
        The exit code: 0 when every table was equal each time.

    Raises:
        StackError: Another demonstration runs there, or a server does not.
    """
    demo = Demo(demo_settings(settings), Console())
    with alone(demo.settings):
        clear(demo.settings, demo.say)
        write_sources(demo.settings, settings.sources, by_the_clock=False)
        return _run(demo, settings, keep=keep)


def _run(demo: Demo, settings: Settings, *, keep: bool) -> int:
    with ThreadPoolExecutor(len(SOURCES)) as pool:
        try:
            opened = [pool.submit(demo.open_source, name) for name in SOURCES]
            with running_stack(demo.settings, sources=SOURCES, report=demo.say) as stack:
                is_equal = _run_phases(demo, stack, pool, opened)
                if is_equal and keep:
                    show_airflow(demo.console, stack.airflow, demo.runs)
                    write_sources(demo.settings, settings.sources, by_the_clock=True)
                    demo.console.print("From now on the Dags run every 5 minutes. Ctrl-C stops.")
                    with suppress(KeyboardInterrupt):
                        threading.Event().wait()
        finally:
            demo.cancelled.set()
    return 0 if is_equal else 1


def _run_phases(
    demo: Demo, stack: StackState, pool: ThreadPoolExecutor, opened: list[Future[None]]
) -> bool:
    if stack.airflow is None:
        raise StackError("Airflow: expected it in the running stack")
    api = log_in(stack.airflow)
    for name in SOURCES:
        api.await_dag(f"ingest_{name}")
    for part in opened:
        part.result()
    is_equal = demo.publish_and_compare(api, PHASES[0])
    for phase in PHASES[1:]:
        if not is_equal:
            break
        list(pool.map(demo.run_phase, SOURCES, [phase] * len(SOURCES)))
        is_equal = demo.publish_and_compare(api, phase)
    show_command(demo.console, demo.settings, SOURCES[0])
    demo.console.print(_EQUAL if is_equal else "[bold red]Not equal")
    return is_equal
