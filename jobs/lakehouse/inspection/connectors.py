"""The source's connectors, as Kafka Connect's REST interface has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.connect_api import ConnectApi, ConnectorStatus
from infra.errors import NotReady
from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.running import is_of_source


@dataclass(frozen=True, slots=True)
class ConnectorFacts:
    """One connector.

    Attributes:
        offsets: How far it has read, as it stores it; empty where Connect does not say.
    """

    name: str
    config: Mapping[str, str]
    status: ConnectorStatus
    offsets: tuple[Mapping[str, object], ...] = ()


def read_connectors(api: ConnectApi, source: SourceConfig) -> tuple[ConnectorFacts, ...]:
    """The connectors that write the source's topics.

    Raises:
        NotReady: Kafka Connect gives no answer.
    """
    configs = {name: api.config(name) for name in api.connectors()}
    return tuple(
        ConnectorFacts(name, config, api.status(name), _offsets(api, name))
        for name, config in configs.items()
        if is_of_source(config, source)
    )


def _offsets(api: ConnectApi, name: str) -> tuple[Mapping[str, object], ...]:
    try:
        return api.offsets(name)
    except NotReady:
        # Connect has had this address since Kafka 3.5 only.
        return ()
