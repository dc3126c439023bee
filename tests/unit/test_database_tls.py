"""A source's database on another machine is verified, or somebody says that it need not be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.setup.truststore import trusted_certificates
from infra.tls import Tls, machine_authorities
from lakehouse.config import Settings, parse_source
from lakehouse.errors import ConfigError
from lakehouse.inspection.addresses import DATABASE, SIGNALS, database_of, signals_of

LOGIN = {"host": "far", "port": 3306, "user": "u", "password": "s3cret", "database": "shop"}
FILE = str(Path(__file__))


def tls(**options: object) -> Tls | None:
    """As both logins of a source are read."""
    settings = Settings.from_environment({"LAKEHOUSE_HOME": "/nowhere"})
    source = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
    text = json.dumps(LOGIN | options)
    reads = database_of(source, settings, {DATABASE: text})
    writes = signals_of(source, settings, {SIGNALS: text})
    assert reads is not None
    assert writes == reads
    return reads.tls


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "/var/run/postgresql"])
def test_a_database_of_this_machine_is_reached_as_it_was(host: str) -> None:
    assert tls(host=host) is None


def test_options_of_tls_are_kept_for_the_client() -> None:
    wanted = {"sslmode": "verify-full", "sslrootcert": FILE, "sslcert": FILE, "sslkey": FILE}
    assert tls(**wanted) == Tls("verify-full", FILE, FILE, FILE)
    assert tls(**wanted).libpq() == wanted
    assert tls(**wanted).pymysql() == {
        "ssl_ca": FILE,
        "ssl_verify_cert": True,
        "ssl_verify_identity": True,
        "ssl_cert": FILE,
        "ssl_key": FILE,
    }


def test_without_a_file_the_authorities_of_this_machine_count() -> None:
    assert trusted_certificates()
    for option in ({}, {"sslrootcert": "system"}):
        found = tls(sslmode="verify-full", **option)
        assert found == Tls("verify-full", machine_authorities())
        assert Path(found.libpq()["sslrootcert"]).is_file()
        assert found.pymysql()["ssl_ca"] == found.authority


def test_a_tunnel_may_verify_the_authority_alone() -> None:
    found = tls(host="127.0.0.1", sslmode="verify-ca", sslrootcert=FILE)
    assert found.libpq() == {"sslmode": "verify-ca", "sslrootcert": FILE}
    assert found.pymysql()["ssl_verify_identity"] is False
    assert tls(host="127.0.0.1", sslmode="disable").pymysql() == {"ssl_disabled": True}


@pytest.mark.parametrize("said", [True, "true"])
def test_plaintext_is_allowed_where_the_address_says_so(said: object) -> None:
    assert tls(**{"lakehouse.plaintext": said}) is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sslmode": "disable"},
        {"sslmode": "require"},
        {"sslmode": "verify-ca", "sslrootcert": FILE},
        {"lakehouse.plaintext": False},
        {"host": "127.0.0.1.example"},
        {"host": "127.0.0.1,far"},
        {"host": "/var/run,far"},
        {"host": ""},
    ],
)
def test_a_database_of_another_machine_is_not_reached_unverified(options: dict) -> None:
    refusal = r"without TLS that verifies it.*sslmode verify-full.*lakehouse\.plaintext"
    with pytest.raises(ConfigError, match=refusal) as refused:
        tls(**options)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sslmode": "verify-full", "sslrootcert": "/no/such"}, "sslrootcert '/no/such': expected"),
        (
            {"sslmode": "verify-full", "ssl_ca": FILE},
            "ssl_ca: expected of TLS sslmode, sslrootcert",
        ),
        ({"host": "127.0.0.1", "sslmode": "require"}, "sslmode require: expected one of"),
        ({"host": "127.0.0.1", "sslrootcert": FILE}, "sslmode not said: expected one of"),
    ],
)
def test_an_option_that_would_be_dropped_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tls(**options)
