"""The Java client's properties, from those of librdkafka."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lakehouse.errors import ConfigError

_SASL_MODULES: Mapping[str, str] = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The Java client's names for librdkafka's properties; tuning of librdkafka is left out.

    Raises:
        ConfigError: For a SASL mechanism that has no translation.
    """
    same = ("bootstrap.servers", "security.protocol", "client.id", "client.rack")
    found = {name: properties[name] for name in same if name in properties}
    if (patience_ms := properties.get("socket.timeout.ms")) is not None:
        found |= dict.fromkeys(("request.timeout.ms", "default.api.timeout.ms"), patience_ms)
    if (authority := properties.get("ssl.ca.location")) is not None:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if (certificate := properties.get("ssl.certificate.location")) is not None:
        key = properties.get("ssl.key.location", certificate)
        found |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": Path(certificate).read_text(encoding="ascii"),
            "ssl.keystore.key": Path(key).read_text(encoding="ascii"),
        }
        if "ssl.key.password" in properties:
            found["ssl.key.password"] = properties["ssl.key.password"]
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        found["ssl.endpoint.identification.algorithm"] = ""
    return found | _sasl(properties)


def _sasl(properties: Mapping[str, str]) -> dict[str, str]:
    if not properties.get("security.protocol", "").upper().startswith("SASL"):
        return {}
    mechanism = properties.get("sasl.mechanism", properties.get("sasl.mechanisms", "GSSAPI"))
    if mechanism not in _SASL_MODULES:
        raise ConfigError(
            f"Kafka property sasl.mechanism {mechanism!r}: expected one of "
            f"{', '.join(_SASL_MODULES)}"
        )
    login = " ".join(
        f"{name}={_jaas_text(properties.get(f'sasl.{name}', ''))}"
        for name in ("username", "password")
    )
    return {
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{_SASL_MODULES[mechanism]} required {login};",
    }


def _jaas_text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
