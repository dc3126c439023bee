"""Kafka client properties of a source, looked up where secrets may live: the environment."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

from lakehouse.config.addresses import PLAINTEXT, is_loopback
from lakehouse.config.settings import Settings
from lakehouse.config.source import SourceConfig
from lakehouse.errors import ConfigError

STACK_FILE = "stack.json"
_PORT = re.compile(r":\d+$")
_ENCRYPTED = ("SSL", "SASL_SSL")


def kafka_properties(
    source: SourceConfig, settings: Settings, environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The librdkafka properties to reach the source's topics.

    Looked up in this order: LAKEHOUSE_KAFKA, the Airflow connection's variable, the local stack.

    Args:
        source: The source; it names the connection.
        settings: Where the local stack has written its addresses.
        environment: The variables; None means those of this process.

    Raises:
        ConfigError: If there is none, or it is no such object. Values are not shown.
    """
    given = os.environ if environment is None else environment
    variable = f"AIRFLOW_CONN_{source.kafka.connection.upper()}"
    stack = settings.home / STACK_FILE
    if text := given.get("LAKEHOUSE_KAFKA"):
        return _checked(_json(text, "LAKEHOUSE_KAFKA"), "LAKEHOUSE_KAFKA")
    if text := given.get(variable):
        extra = _json(text, variable).get("extra")
        found = _json(extra, f"{variable}, extra") if isinstance(extra, str) else extra
        return _checked(found, f"{variable}, extra")
    if stack.is_file():
        return _checked(_json(stack.read_text(), str(stack)).get("kafka"), f"{stack}, kafka")
    raise ConfigError(
        f"source {source.name!r}: no Kafka address: expected it in LAKEHOUSE_KAFKA (a JSON object "
        f'such as {{"bootstrap.servers": "host:9092"}}), in {variable} (JSON with "extra"), '
        f"or in {stack}, which `lakehouse up` writes; a topic archive needs none (--archive)"
    )


def client_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What a client is opened with: of librdkafka alone, and encrypted beyond this machine.

    Raises:
        ConfigError: Brokers of other machines would be reached without TLS, and nobody allowed it.
    """
    found = {name: text for name, text in properties.items() if name != PLAINTEXT}
    brokers = [each.strip() for each in found["bootstrap.servers"].split(",")]
    far = [each for each in brokers if not is_loopback(_PORT.sub("", each.rpartition("://")[2]))]
    protocol = found.get("security.protocol", "plaintext").upper()
    if far and protocol not in _ENCRYPTED and properties.get(PLAINTEXT) != "true":
        raise ConfigError(
            f"Kafka at {', '.join(far)} would be reached without TLS (security.protocol "
            f"{protocol}): expected {' or '.join(_ENCRYPTED)}; where nobody else reads the "
            f'network, say so beside bootstrap.servers: "{PLAINTEXT}": true'
        )
    return found


def _json(text: str, place: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as broken:
        raise ConfigError(
            f"{place}: expected a JSON object: {broken.msg} at character {broken.pos}"
        ) from None
    if not isinstance(found, dict):
        raise ConfigError(f"{place}: expected a JSON object, found {type(found).__name__}")
    return found


def _checked(found: object, place: str) -> dict[str, str]:
    if not isinstance(found, dict):
        raise ConfigError(f"{place}: expected an object of Kafka client properties")
    if not found.get("bootstrap.servers"):
        raise ConfigError(f"{place}: expected the property bootstrap.servers (host:port)")
    return {str(key): _property_text(value) for key, value in found.items()}


def _property_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
