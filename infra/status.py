"""What of the stack runs where, how its connectors are, and how far tables are behind Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.connect_api import ConnectApi, ConnectorStatus
from infra.errors import NotReady
from infra.home import StackHome
from infra.processes import is_running
from infra.state import StackState, read_state
from infra.stopping import living_servers
from lakehouse.config import Settings, load_sources
from lakehouse.plan.cuts.lag import SourceLag
from lakehouse.plan.cuts.lag_words import count_text
from lakehouse.quality.reports.summary import open_quarantine
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.lag import measure_lag


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; `pid` is None and `is_running` false for one that ended by itself."""

    name: str
    is_running: bool
    pid: int | None
    port: int | None
    log: Path


@dataclass(frozen=True, slots=True)
class StackStatus:
    """All that `lakehouse status` shows; `problems` are servers that gave no answer.

    Attributes:
        lags: Of each source of which Kafka or the catalog has something.
        quarantined: Source → how many messages its runs set aside, which wait for a replay, in
            words; none where none wait.
    """

    state: StackState
    servers: tuple[ServerStatus, ...] = ()
    connectors: tuple[ConnectorStatus, ...] = ()
    lags: tuple[SourceLag, ...] = ()
    quarantined: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def status(settings: Settings) -> StackStatus:
    """Look at the stack; never fails because a part of it does not answer.

    Raises:
        StackError: stack.json cannot be read.
        ConfigError: a TOML file is wrong.
    """
    home = StackHome(settings.home)
    state = read_state(home)
    problems: list[str] = []
    connectors: tuple[ConnectorStatus, ...] = ()
    servers = tuple(_servers(home, state))
    running = {server.name for server in servers if server.is_running}
    if state.connect and "connect" in running:
        try:
            api = ConnectApi(state.connect)
            connectors = tuple(api.status(name) for name in api.connectors())
        except NotReady as silent:
            problems.append(f"Kafka Connect: {silent}")
    ledger = _ledger(settings)
    lags = tuple(_lags(settings, ledger))
    waiting = {lag.source: _quarantined(ledger, lag) for lag in lags}
    return StackStatus(state, servers, connectors, lags, waiting, tuple(problems))


def _servers(home: StackHome, state: StackState) -> Iterator[ServerStatus]:
    records = {record.server: record for record in state.processes}
    # A server of a killed `up` may run without being in stack.json.
    found = living_servers(home) if home.was_used else {}
    for name in sorted(records.keys() | found.keys()):
        record = records.get(name)
        if record is not None and is_running(record):
            pid: int | None = record.pid
        else:
            pid = min(found.get(name, set()), default=None)
        yield ServerStatus(name, pid is not None, pid, state.ports.get(name), home.log(name))


def _quarantined(ledger: Ledger | None, lag: SourceLag) -> str:
    if ledger is None or not lag.cut:
        return ""
    cut = ledger.newest_cut(lag.source)
    waiting, is_whole = open_quarantine(ledger, lag.source, cut)
    return count_text(len(waiting), "message", is_whole=is_whole) if waiting else ""


def _lags(settings: Settings, ledger: Ledger | None) -> Iterator[SourceLag]:
    """The lag of each source; a Kafka that does not answer is asked once."""
    silent: dict[str, str] = {}
    for source in load_sources(settings):
        lag = measure_lag(source, settings, ledger, silent)
        if lag.cut or lag.tables or not lag.unseen:
            yield lag


def _ledger(settings: Settings) -> Ledger | None:
    """The control tables; None where no run has made them, since to look must not do so."""
    file = settings.catalog_uri.removeprefix("sqlite:///")
    is_missing = file != settings.catalog_uri and not Path(file).exists()
    return None if is_missing else Ledger(settings)
