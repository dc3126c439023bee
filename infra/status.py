"""What of the stack runs where, how its connectors are, and how far landing is behind Kafka."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import Table

from infra.clients import kafka_admin
from infra.connect_api import ConnectApi, ConnectorStatus
from infra.errors import NotReady
from infra.home import StackHome
from infra.processes import is_running
from infra.state import StackState, read_state
from infra.stopping import living_servers
from lakehouse.config import Settings, SourceConfig, load_sources, select_topics
from lakehouse.names import bronze_table
from lakehouse.plan.catalog import CATALOG, pyiceberg_properties
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.spark.bronze import OFFSETS_PROPERTY

_ANSWER_S = 5


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """One server; `pid` is None and `is_running` false for one that ended by itself."""

    name: str
    is_running: bool
    pid: int | None
    port: int | None
    log: Path


@dataclass(frozen=True, slots=True)
class TopicLag:
    """One topic partition of a source; `landed` is None when nothing of it is landed yet."""

    source: str
    topic: str
    partition: int
    end_offset: int
    landed: int | None

    @property
    def lag(self) -> int:
        """Offsets that are not landed: an upper bound for messages, since offsets have gaps."""
        return self.end_offset - (self.landed or 0)


@dataclass(frozen=True, slots=True)
class StackStatus:
    """All that `lakehouse status` shows; `problems` are servers that gave no answer."""

    state: StackState
    servers: tuple[ServerStatus, ...] = ()
    connectors: tuple[ConnectorStatus, ...] = ()
    lags: tuple[TopicLag, ...] = ()
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
    lags: tuple[TopicLag, ...] = ()
    servers = tuple(_servers(home, state))
    running = {server.name for server in servers if server.is_running}
    if state.connect and "connect" in running:
        try:
            api = ConnectApi(state.connect)
            connectors = tuple(api.status(name) for name in api.connectors())
        except NotReady as silent:
            problems.append(f"Kafka Connect: {silent}")
    if state.kafka and "kafka" in running:
        try:
            lags = tuple(_lags(settings, state.kafka, set(state.sources)))
        except NotReady as silent:
            problems.append(f"Kafka: {silent}")
    return StackStatus(state, servers, connectors, lags, tuple(problems))


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


def _lags(settings: Settings, bootstrap_servers: str, names: set[str]) -> Iterator[TopicLag]:
    admin = kafka_admin(bootstrap_servers, timeout_s=_ANSWER_S)
    topics = admin.topics()
    for source in load_sources(settings):
        if source.name in names:
            landed = landed_offsets(settings, source)
            selected = select_topics(source, topics).topics
            for (topic, number), end in sorted(admin.end_offsets(selected).items()):
                offset = landed.get(topic, {}).get(number)
                yield TopicLag(source.name, topic, number, end, offset)


def landed_offsets(settings: Settings, source: SourceConfig) -> Mapping[str, Mapping[int, int]]:
    """Next offset to land by topic and partition, as bronze's snapshots have it; else empty."""
    file = settings.catalog_uri.removeprefix("sqlite:///")
    if file != settings.catalog_uri and not Path(file).exists():
        return {}
    catalog = load_catalog(CATALOG, **pyiceberg_properties(settings))
    try:
        table = catalog.load_table(bronze_table(source.name))
    except (NoSuchTableError, NoSuchNamespaceError):
        return {}
    text = next(_offset_properties(table), None)
    if text is None:
        return {}
    landed = LandedOffsets.from_json(text).topics
    return {topic: progress.next_offsets for topic, progress in landed.items()}


def _offset_properties(table: Table) -> Iterator[str]:
    """The property of each snapshot of `main` that has it, newest first."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        text = snapshot.summary.get(OFFSETS_PROPERTY) if snapshot.summary else None
        if text is not None:
            yield text
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
