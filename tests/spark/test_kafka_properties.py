"""The Java client gets what librdkafka's properties say."""

from __future__ import annotations

import pytest

from lakehouse.errors import ConfigError
from lakehouse.spark.landing.kafka_properties import java_properties


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


def test_certificates_that_stand_in_the_properties_are_handed_over():
    written = {"ssl.ca.pem": "AUTHORITY", "ssl.certificate.pem": "MINE", "ssl.key.pem": "KEY"}
    assert java_properties({"bootstrap.servers": "a:1", "security.protocol": "SSL", **written}) == {
        "bootstrap.servers": "a:1",
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "AUTHORITY",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "MINE",
        "ssl.keystore.key": "KEY",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ssl.crl.location": "/crl.pem"}, r"ssl\.crl\.location: Spark's client in Java cannot"),
        ({"ssl.keystore.location": "/me.p12"}, r"ssl\.keystore\.location: .* expected certif"),
        ({"ssl.key.pem": "KEY"}, r"ssl\.key: expected its certificate beside it"),
    ],
)
def test_what_would_be_dropped_without_a_word_is_refused(given, message):
    with pytest.raises(ConfigError, match=message) as refused:
        java_properties({"bootstrap.servers": "a:1", "security.protocol": "SSL", **given})
    assert "KEY" not in str(refused.value)
