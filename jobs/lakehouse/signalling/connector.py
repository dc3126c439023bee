"""The one connector that a signal is for, as Kafka Connect has it now."""

from __future__ import annotations

from infra.connect_api import ConnectApi
from infra.errors import NotReady
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.inspection.addresses import SAY_CONNECT, START_CONNECT, connect_url
from lakehouse.inspection.connectors import ConnectorFacts, read_connectors
from lakehouse.plan.signals.connector import SignalFacts, signal_facts


def find_connector(source: SourceConfig, settings: Settings) -> SignalFacts:
    """Read what the source's connector takes.

    Raises:
        ConfigError: Nobody says where Kafka Connect is.
        SignalRefused: It does not answer, the connector is not the only one or does not run, or it
            takes no signals.
    """
    url = connect_url(settings)
    if url is None:
        raise ConfigError(
            f"source {source.name!r}: no address of Kafka Connect, which knows the connector's "
            f"version and channels: {SAY_CONNECT}"
        )
    api = ConnectApi(url)
    try:
        found = _only_one(read_connectors(api, source), source, url)
        version = _version(api.versions(), found.config.get("connector.class", ""))
    except NotReady as silent:
        raise SignalRefused(
            f"Kafka Connect at {url}: {silent}: expected an answer; {START_CONNECT}"
        ) from silent
    return signal_facts(found.name, found.config, version, source)


def _only_one(
    connectors: tuple[ConnectorFacts, ...], source: SourceConfig, url: str
) -> ConnectorFacts:
    if len(connectors) != 1:
        names = ", ".join(each.name for each in connectors) or "none"
        raise SignalRefused(
            f"source {source.name!r}: connectors with topic.prefix {source.topic_prefix!r} at "
            f"{url}: {names}: expected one"
        )
    [found] = connectors
    if not found.status.is_running:
        reason = found.status.reason or found.status.connector
        raise SignalRefused(
            f"connector {found.name}: {reason}: expected it to run; a signal would wait for that. "
            f"Restart it, see `lakehouse doctor --source {source.name}`"
        )
    return found


def _version(versions: dict[str, str], wanted: str) -> str:
    """The version of a plugin, which a configuration may name without its package."""
    named = (wanted, f"{wanted}Connector")
    return next(
        (text for name, text in versions.items() if {name, name.rpartition(".")[2]} & set(named)),
        "",
    )
