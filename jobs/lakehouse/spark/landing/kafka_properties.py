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
# What librdkafka trusts, or answers with, in other forms.
_UNTOLD = frozenset(
    {
        "ssl.ca.certificate.stores",
        "ssl.crl.location",
        "ssl.engine.location",
        "ssl.keystore.location",
    }
)


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """The Java client's names for librdkafka's properties; tuning of librdkafka is left out.

    Raises:
        ConfigError: For a SASL mechanism, or a property of TLS, that has no translation.
    """
    same = ("bootstrap.servers", "security.protocol", "client.id", "client.rack")
    found = {name: properties[name] for name in same if name in properties}
    if (patience_ms := properties.get("socket.timeout.ms")) is not None:
        found |= dict.fromkeys(("request.timeout.ms", "default.api.timeout.ms"), patience_ms)
    found |= _trust(properties) | _identity(properties)
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        found["ssl.endpoint.identification.algorithm"] = ""
    return found | _sasl(properties)


def _trust(properties: Mapping[str, str]) -> dict[str, str]:
    if untold := sorted(_UNTOLD & properties.keys()):
        raise ConfigError(
            f"Kafka property {', '.join(untold)}: Spark's client in Java cannot be told it: "
            "expected certificates and keys as PEM, ssl.ca.location, ssl.certificate.location and "
            "ssl.key.location (files) or ssl.ca.pem, ssl.certificate.pem and ssl.key.pem"
        )
    if (authority := properties.get("ssl.ca.location")) is not None:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if (text := properties.get("ssl.ca.pem")) is not None:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}
    return {}


def _identity(properties: Mapping[str, str]) -> dict[str, str]:
    certificate, key = _pem(properties, "ssl.certificate"), _pem(properties, "ssl.key")
    if certificate is None and key is not None:
        raise ConfigError(
            "Kafka property ssl.key: expected its certificate beside it, as "
            "ssl.certificate.location or ssl.certificate.pem"
        )
    if certificate is None:
        return {}
    found = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": certificate,
        "ssl.keystore.key": key or certificate,
    }
    if "ssl.key.password" in properties:
        found["ssl.key.password"] = properties["ssl.key.password"]
    return found


def _pem(properties: Mapping[str, str], name: str) -> str | None:
    file = properties.get(f"{name}.location")
    return Path(file).read_text(encoding="ascii") if file else properties.get(f"{name}.pem")


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
