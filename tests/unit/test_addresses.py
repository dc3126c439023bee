"""An address that holds a password is refused without a word of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.airflow import write_configuration
from infra.home import StackHome
from infra.sources import Database, Engine
from lakehouse.config import Settings
from lakehouse.errors import ConfigError
from lakehouse.inspection.addresses import connect_url

SECRET = "s3cret"
HTTP = (f"http://lake:{SECRET}@host", f"https://{SECRET}@host:8083/x")
UNREADABLE = (f"postgresql://lake:{SECRET}/x@host/db", f"postgresql://lake:{SECRET}[@host/db")


@pytest.mark.parametrize("uri", [*HTTP, *UNREADABLE])
def test_a_catalog_whose_address_cannot_be_used_is_not_shown(uri: str) -> None:
    with pytest.raises(ConfigError, match="LAKEHOUSE_CATALOG_URI") as refused:
        Settings.from_environment({"LAKEHOUSE_CATALOG_URI": uri})
    assert SECRET not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize("uri", [*HTTP, *UNREADABLE])
def test_kafka_connect_is_not_asked_at_an_address_with_a_login(uri: str, tmp_path: Path) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match="LAKEHOUSE_CONNECT") as refused:
        connect_url(settings, {"LAKEHOUSE_CONNECT": uri})
    assert SECRET not in str(refused.value)


def test_addresses_that_can_be_used_stay_as_they_are(tmp_path: Path) -> None:
    local = "postgresql://lake:a%2Fb@127.0.0.1:5432/db"
    for uri in (local, "https://host/catalog", "sqlite:////a/b"):
        assert Settings.from_environment({"LAKEHOUSE_CATALOG_URI": uri}).catalog_uri == uri
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    for uri in ("http://127.0.0.1:8083", "https://host:8083"):
        assert connect_url(settings, {"LAKEHOUSE_CONNECT": f"{uri}/"}) == uri


def test_kafka_connect_of_another_machine_is_reached_with_tls_or_where_a_person_allows_it_without(
    tmp_path: Path,
) -> None:
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    for uri in ("http://host:8083", "http://host:8083/?lakehouse.plaintext=false", "host:8083"):
        with pytest.raises(ConfigError, match=r"LAKEHOUSE_CONNECT: .* without TLS"):
            connect_url(settings, {"LAKEHOUSE_CONNECT": uri})
    allowed = {"LAKEHOUSE_CONNECT": "http://host:8083/?lakehouse.plaintext=true"}
    assert connect_url(settings, allowed) == "http://host:8083"


def test_what_airflow_has_stored_is_read_after_a_restart(tmp_path: Path) -> None:
    home = StackHome(tmp_path)
    home.prepare()
    keys = set()
    for _ in range(2):
        write_configuration(home, Database(Engine.POSTGRESQL, 1, "a", "b", "c"), 2)
        text = (home.airflow / "airflow.cfg").read_text()
        keys |= {line for line in text.splitlines() if line.startswith("fernet_key = ")}
    assert len(keys) == 1
