"""The Java client gets what librdkafka's properties say."""

from __future__ import annotations

import pytest

from lakehouse.errors import ConfigError
from lakehouse.spark.kafka_properties import java_properties


def test_tuning_of_the_other_client_is_left_out():
    given = {"bootstrap.servers": "a:1,b:2", "queue.buffering.max.ms": "5", "client.id": "x"}
    assert java_properties(given) == {"bootstrap.servers": "a:1,b:2", "client.id": "x"}


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")],
)
def test_a_login_becomes_a_jaas_line_with_its_quotes_escaped(mechanism, module):
    found = java_properties(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": mechanism,
            "sasl.username": "me",
            "sasl.password": 'a"b\\c',
        }
    )
    assert found["sasl.mechanism"] == mechanism
    assert found["sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="me" password="a\\"b\\\\c";'
    )


def test_an_unknown_login_is_refused():
    given = {"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL"}
    with pytest.raises(ConfigError, match=r"sasl.mechanism 'GSSAPI': expected one of PLAIN"):
        java_properties(given)


def test_certificates_are_handed_over(tmp_path):
    certificate, key = tmp_path / "c.pem", tmp_path / "k.pem"
    certificate.write_text("CERTIFICATE")
    key.write_text("KEY")
    found = java_properties(
        {
            "bootstrap.servers": "a:1",
            "security.protocol": "SSL",
            "ssl.ca.location": "/ca.pem",
            "ssl.certificate.location": str(certificate),
            "ssl.key.location": str(key),
            "ssl.key.password": "secret",
            "ssl.endpoint.identification.algorithm": "none",
        }
    )
    assert found == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "CERTIFICATE",
        "ssl.keystore.key": "KEY",
        "ssl.key.password": "secret",
        "ssl.endpoint.identification.algorithm": "",
    }
