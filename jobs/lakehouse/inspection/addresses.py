"""Where a source's Kafka Connect and database are: environment first, then the local stack."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace

from infra.home import StackHome
from infra.sources import Database, Engine
from infra.state import read_state
from lakehouse.config import Settings, SourceConfig
from lakehouse.config.addresses import read_address, refuse_login, refuse_unencrypted
from lakehouse.errors import ConfigError
from lakehouse.inspection.database_tls import tls_of

CONNECT, DATABASE = "LAKEHOUSE_CONNECT", "LAKEHOUSE_DATABASE"
SIGNALS = "LAKEHOUSE_SIGNALS"
# What to do where nobody says an address, and where nothing answers at one.
SAY_CONNECT = f"expected it in {CONNECT}; `lakehouse up` starts the local stack, which has one"
START_CONNECT = f"start it (`lakehouse up` starts the local one), or correct {CONNECT}"
_MEMBERS = ("host", "port", "user", "password", "database")


def connect_url(settings: Settings, environment: Mapping[str, str] | None = None) -> str | None:
    """The address of Kafka Connect's REST interface; None where nobody says it.

    Raises:
        ConfigError: It cannot be read, a login stands in it, or another machine would be reached
            without TLS and nobody allowed it. It is not shown.
    """
    given = os.environ if environment is None else environment
    if url := given.get(CONNECT, ""):
        parts = read_address(url, CONNECT)
        refuse_login(parts, CONNECT)
        refuse_unencrypted(parts, CONNECT)
        return parts._replace(query="").geturl().rstrip("/")
    return read_state(StackHome(settings.home)).connect


def database_of(
    source: SourceConfig, settings: Settings, environment: Mapping[str, str] | None = None
) -> Database | None:
    """The login that reads the source's database; None where nobody says it.

    Raises:
        ConfigError: The variable is no such JSON object, whose values are not shown, or names a
            server of another machine without TLS.
    """
    given = os.environ if environment is None else environment
    if source.connector not in tuple(Engine):
        return None
    if text := given.get(DATABASE):
        return _parsed(text, DATABASE, source.connector)
    return read_state(StackHome(settings.home)).readers.get(source.name)


def signals_of(
    source: SourceConfig, settings: Settings, environment: Mapping[str, str] | None = None
) -> Database | None:
    """The login that writes signals, else the one that reads; None where nobody says either.

    Raises:
        ConfigError: A variable is no such JSON object. Its values are not shown.
    """
    given = os.environ if environment is None else environment
    if source.connector not in tuple(Engine):
        return None
    if text := given.get(SIGNALS):
        return _parsed(text, SIGNALS, source.connector)
    if given.get(DATABASE):
        return database_of(source, settings, given)
    return read_state(StackHome(settings.home)).signals.get(source.name)


def _parsed(text: str, variable: str, connector: str) -> Database:
    try:
        found = json.loads(text)
        host, port, user, password, database = (found[name] for name in _MEMBERS)
        login = Database(
            Engine(connector), int(port), str(user), str(password), str(database), str(host)
        )
    except (ValueError, TypeError, KeyError) as broken:
        raise ConfigError(
            f"{variable}: {type(broken).__name__}: expected a JSON object with the members "
            f"{', '.join(_MEMBERS)}"
        ) from None
    return replace(login, tls=tls_of(found, variable))
