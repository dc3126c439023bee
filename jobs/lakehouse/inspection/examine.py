"""One source, examined from end to end: connectors, topics, database, and its Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from infra.connect_api import ConnectApi
from infra.errors import NotReady
from infra.sources import Database, Engine
from lakehouse.config import Settings, SourceConfig, kafka_properties
from lakehouse.errors import ConfigError, KafkaUnreachable, LandingRefused
from lakehouse.inspection.addresses import DATABASE, SAY_CONNECT, connect_url, database_of
from lakehouse.inspection.connectors import ConnectorFacts, read_connectors
from lakehouse.inspection.databases import read_binlog, read_postgresql
from lakehouse.inspection.tables import read_all
from lakehouse.inspection.topics import read_source_topics
from lakehouse.plan.doctor.binlog import judge_binlog
from lakehouse.plan.doctor.connector import judge_connector
from lakehouse.plan.doctor.findings import Finding
from lakehouse.plan.doctor.postgresql import judge_postgresql
from lakehouse.plan.doctor.running import judge_running
from lakehouse.plan.doctor.tables import judge_tables
from lakehouse.plan.doctor.topics import judge_topics
from lakehouse.spark.control.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Examination:
    """What was found.

    Attributes:
        looked_at: What was read, in words.
        unseen: What could not be read, and why.
    """

    findings: tuple[Finding, ...]
    looked_at: tuple[str, ...]
    unseen: tuple[str, ...]


def examine(source: SourceConfig, settings: Settings) -> Examination:
    """Read and judge what the source's messages come through; nothing is changed."""
    unseen: list[str] = []
    connectors = _connectors(source, settings, unseen)
    findings = list(judge_running(_running(connectors), source)) if connectors is not None else []
    for connector in connectors or ():
        findings += judge_connector(connector.name, connector.config, source)
    looked = [f"connector {connector.name}" for connector in connectors or ()]
    parts: tuple[tuple[str, Callable[[], tuple[Finding, ...]]], ...] = (
        ("tables", lambda: _tables(source, settings)),
        ("topics", lambda: _topics(source, settings)),
        ("database", lambda: _database(source, settings, connectors or ())),
    )
    for name, judge in parts:
        try:
            findings += judge()
            looked.append(name)
        except (NotReady, ConfigError, KafkaUnreachable, LandingRefused) as missing:
            unseen.append(f"{name}: {missing}")
    return Examination(tuple(findings), tuple(looked), tuple(unseen))


def _connectors(
    source: SourceConfig, settings: Settings, unseen: list[str]
) -> tuple[ConnectorFacts, ...] | None:
    url = connect_url(settings)
    if url is None:
        unseen.append(f"connectors: no address of Kafka Connect: {SAY_CONNECT}")
        return None
    try:
        return read_connectors(ConnectApi(url), source)
    except NotReady as silent:
        unseen.append(f"connectors: {silent}")
        return None


def _running(connectors: tuple[ConnectorFacts, ...]) -> Mapping[str, str]:
    return {
        one.name: "" if one.status.is_running else (one.status.reason or one.status.connector)
        for one in connectors
    }


def _topics(source: SourceConfig, settings: Settings) -> tuple[Finding, ...]:
    properties = kafka_properties(source, settings)
    return judge_topics(read_source_topics(source, properties, Ledger(settings)), source)


def _tables(source: SourceConfig, settings: Settings) -> tuple[Finding, ...]:
    return judge_tables(read_all(source, Ledger(settings)), source.name)


def _database(
    source: SourceConfig, settings: Settings, connectors: tuple[ConnectorFacts, ...]
) -> tuple[Finding, ...]:
    found = database_of(source, settings)
    if found is None:
        raise ConfigError(f"no login of the source's database: expected it in {DATABASE}")
    config = connectors[0].config if connectors else {}
    return _judged(found, config, connectors, source)


def _judged(
    database: Database,
    config: Mapping[str, str],
    connectors: tuple[ConnectorFacts, ...],
    source: SourceConfig,
) -> tuple[Finding, ...]:
    if database.engine is Engine.POSTGRESQL:
        return judge_postgresql(read_postgresql(database, config))
    files = [
        str(offset["file"]) for one in connectors for offset in one.offsets if "file" in offset
    ]
    return judge_binlog(read_binlog(database, config, files[0] if files else ""), source)
