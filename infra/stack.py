"""The local stack: start what is asked for, stop everything, leave nothing behind.

Independent servers start at once, each in a thread: Kafka, then Connect; each database, then
its sample rows; Airflow's database, its migration, its components. A connector is registered
when both Connect and its database are there. If any part fails, or Ctrl-C is pressed, whatever
this call has started is stopped again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace

from infra.errors import NotReady, StackError
from infra.home import StackHome
from infra.kafka_logins import LISTENER, login_listener
from infra.ports import LOOPBACK, choose_ports, remembered_ports, write_ports
from infra.processes import is_running
from infra.servers.connect import connect_server
from infra.servers.kafka import kafka_server
from infra.servers.mariadb import mariadb_server
from infra.servers.mysql import end_binlog_readers, mysql_server
from infra.servers.postgresql import LOGICAL, postgresql_server
from infra.servers.server import Server
from infra.sources import SAMPLE_SOURCES, Engine
from infra.starting import StackStart
from infra.starting_airflow import start_airflow
from infra.state import StackState, read_state
from infra.stopping import AIRFLOW_DATABASE, STOP_RULES, end_servers, living_servers
from lakehouse.config import Settings, SourceConfig, load_source

Report = Callable[[str], None]

# "kafka:controller" and "kafka:logins" are more ports of the server "kafka".
_PORT_NAMES = (
    "kafka",
    "kafka:controller",
    "kafka:logins",
    "connect",
    *(engine.value for engine in Engine),
    AIRFLOW_DATABASE,
    "airflow_api_server",
)


@dataclass(frozen=True, slots=True)
class _Selection:
    sources: tuple[SourceConfig, ...]
    airflow: bool
    data_partitions: int


def up(
    settings: Settings,
    *,
    sources: Sequence[str] = tuple(SAMPLE_SOURCES),
    airflow: bool = True,
    data_partitions: int = 1,
    report: Report = print,
) -> StackState:
    """Start the parts that do not run yet and wait until all of them are ready.

    Args:
        settings: Home of the stack and the folder of the TOML files.
        sources: Sample sources to start; with any, Kafka and Connect start too.
        airflow: Whether to start Airflow.
        data_partitions: Partitions of the topics that the connectors make.
        report: Takes one line for each thing done.

    Raises:
        StackError: a part did not start; what this call had started is stopped again.
        ConfigError: a TOML file is wrong.
    """
    configs = tuple(_checked_source(name, settings) for name in sources)
    home = StackHome(settings.home)
    home.prepare()
    with home.locked():
        start = StackStart(home, report, _state_with_ports(home))
        try:
            _start_parts(start, settings, _Selection(configs, airflow, data_partitions))
        except BaseException:
            start.cancelled.set()
            report(f"stopping {', '.join(start.started) or 'nothing'}")
            _stop(home, start.state, start.started, report)
            raise
        return start.state


def down(settings: Settings, *, report: Report = print) -> tuple[str, ...]:
    """Stop every server of the stack and all that they started.

    Returns:
        The names of the servers that had processes.

    Raises:
        StackError: a process could not be ended, or another command holds the stack.
    """
    home = StackHome(settings.home)
    if not home.was_used:
        return ()
    with home.locked():
        try:
            state = read_state(home)
        except StackError as unreadable:
            report(str(unreadable))
            state = StackState()
        living = tuple(living_servers(home))
        _stop(home, state, living, report)
        left = living_servers(home)
        if left:
            raise StackError(
                f"Processes {sorted(set().union(*left.values()))} of {', '.join(left)} did not "
                "end: expected none after SIGKILL; run `lakehouse down` as the user who "
                "started them"
            )
    return living


@contextmanager
def running_stack(
    settings: Settings,
    *,
    sources: Sequence[str] = tuple(SAMPLE_SOURCES),
    airflow: bool = True,
    data_partitions: int = 1,
    report: Report = print,
) -> Iterator[StackState]:
    """A stack that runs inside the `with` block and is stopped after it, whatever happens."""
    try:
        yield up(
            settings,
            sources=sources,
            airflow=airflow,
            data_partitions=data_partitions,
            report=report,
        )
    finally:
        down(settings, report=report)


def _checked_source(name: str, settings: Settings) -> SourceConfig:
    if name not in SAMPLE_SOURCES:
        raise StackError(
            f"The stack has no sample source {name!r}: expected one of "
            f"{', '.join(SAMPLE_SOURCES)}; your own sources need no `lakehouse up`"
        )
    return load_source(name, settings)


def _state_with_ports(home: StackHome) -> StackState:
    """The state of before, less what no longer runs, with a port for every server."""
    before = read_state(home)
    running = tuple(record for record in before.processes if is_running(record))
    names = {record.server for record in running}
    kept = {name: port for name, port in before.ports.items() if name.partition(":")[0] in names}
    needed = [name for name in _PORT_NAMES if name not in kept]
    ports = {**kept, **choose_ports(needed, remembered_ports(home.ports_file))}
    write_ports(home.ports_file, ports)
    sources = {
        name: replace(database, port=ports[database.engine])
        for name, database in before.sources.items()
        if database.engine in names
    }
    return replace(before, processes=running, ports=ports, sources=sources)


def _start_parts(start: StackStart, settings: Settings, selection: _Selection) -> None:
    """Run every part in a thread of its own; the first failure ends the others."""
    parts: list[Future[None]] = []
    with ThreadPoolExecutor(max_workers=len(STOP_RULES)) as pool:
        try:
            if selection.sources:
                streaming = pool.submit(_start_streaming, start, selection)
                parts.append(streaming)
                parts.extend(
                    pool.submit(_start_source, start, source, streaming, selection)
                    for source in selection.sources
                )
            if selection.airflow:
                parts.append(pool.submit(start_airflow, start, settings))
            finished, _ = wait(parts, return_when=FIRST_EXCEPTION)
        finally:
            # Without effect when all is done; else threads that still wait end now.
            start.cancelled.set()
    failures = [failure for part in finished if (failure := part.exception()) is not None]
    if failures and isinstance(failures[0], NotReady):
        raise StackError(f"A server stopped answering while starting: {failures[0]}")
    if failures:
        raise failures[0]


def _start_streaming(start: StackStart, selection: _Selection) -> None:
    """Kafka, then Kafka Connect."""
    home, ports = start.home, start.state.ports
    plain, controller = ports["kafka"], ports["kafka:controller"]
    logins = login_listener(
        LISTENER,
        "SASL_PLAINTEXT",
        plain=plain,
        port=ports["kafka:logins"],
        controller=controller,
    )
    start.start(kafka_server(home, plain, controller, settings=logins))
    start.admit_to_kafka(selection.sources)
    start.write_connector_secrets()
    url = f"http://{LOOPBACK}:{ports['connect']}"
    start.start(connect_server(home, ports["connect"], start.connect_login()))
    start.change(lambda state: replace(state, connect=url))
    start.stop_other_connectors(tuple(source.name for source in selection.sources))


def _start_source(
    start: StackStart, source: SourceConfig, streaming: Future[None], selection: _Selection
) -> None:
    """A database, its rows, and its connector as soon as Connect is there."""
    sample = SAMPLE_SOURCES[source.name]
    start.start(_database_server(start.home, sample.engine, start.state.ports))
    start.fill(sample)
    # Not by its result: a failure there is reported once, by its own part.
    wait([streaming])
    if streaming.exception() is None:
        start.connect(source, selection.data_partitions)


def _database_server(home: StackHome, engine: Engine, ports: Mapping[str, int]) -> Server:
    if engine is Engine.POSTGRESQL:
        return postgresql_server(home, engine, ports[engine], LOGICAL)
    if engine is Engine.MYSQL:
        return mysql_server(home, ports[engine])
    return mariadb_server(home, ports[engine])


def _stop(home: StackHome, state: StackState, names: Sequence[str], report: Report) -> None:
    mysql = state.find_process(Engine.MYSQL)
    if mysql is not None and mysql.server in names and is_running(mysql):
        end_binlog_readers(home, state.ports[mysql.server])
    end_servers(home, state.processes, names, report)
    left = tuple(record for record in state.processes if record.server not in names)
    if left:
        replace(state, processes=left).write(home)
    else:
        home.state_file.unlink(missing_ok=True)
