"""What a database's login says about TLS: beyond this machine its server is verified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from infra.tls import DISABLE, VERIFY_CA, VERIFY_FULL, Tls, machine_authorities
from lakehouse.config.addresses import PLAINTEXT, is_loopback
from lakehouse.errors import ConfigError

_FILES = ("sslrootcert", "sslcert", "sslkey")
_MODES = (VERIFY_FULL, VERIFY_CA, DISABLE)
# libpq's own word for the authorities of the machine.
_SYSTEM = "system"


def tls_of(login: Mapping[str, object], variable: str) -> Tls | None:
    """How the server is verified; None where nothing is said, and nothing has to be.

    Args:
        login: The members of the variable, of which `host` and those of TLS are read.
        variable: Where they stand, for errors.

    Raises:
        ConfigError: It is on another machine, would not be verified, and nobody allowed that; or
            an option cannot be used.
    """
    given = {name: str(text) for name, text in login.items() if name.startswith("ssl")}
    mode, host = given.get("sslmode", ""), str(login["host"])
    is_allowed = str(login.get(PLAINTEXT)).lower() == "true"
    if mode != VERIFY_FULL and not is_allowed and not _is_here(host):
        raise ConfigError(
            f"{variable}: the database at {host} would be reached without TLS that verifies it "
            f"(sslmode {mode or 'not said'}): expected sslmode {VERIFY_FULL}, with sslrootcert if "
            "this machine does not trust its authority; where nobody else reads the network, say "
            f'so beside host: "{PLAINTEXT}": true'
        )
    if not given:
        return None
    _check(given, variable)
    if mode == DISABLE:
        return Tls(DISABLE)
    authority = given.get("sslrootcert", _SYSTEM)
    if authority == _SYSTEM:
        authority = _authorities(variable)
    return Tls(mode, authority, given.get("sslcert", ""), given.get("sslkey", ""))


def _is_here(host: str) -> bool:
    # libpq takes a folder for that of a socket, and a comma for the next of several hosts.
    return is_loopback(host) or (host.startswith("/") and "," not in host)


def _check(given: Mapping[str, str], variable: str) -> None:
    if unknown := sorted(given.keys() - {"sslmode", *_FILES}):
        raise ConfigError(
            f"{variable}: {', '.join(unknown)}: expected of TLS sslmode, {', '.join(_FILES)} only"
        )
    if given.get("sslmode") not in _MODES:
        raise ConfigError(
            f"{variable}: sslmode {given.get('sslmode', 'not said')}: expected one of "
            f"{', '.join(_MODES)}"
        )
    for name in _FILES:
        file = given.get(name, _SYSTEM)
        if file != _SYSTEM and not Path(file).is_file():
            raise ConfigError(f"{variable}: {name} {file!r}: expected a file (PEM) of this machine")


def _authorities(variable: str) -> str:
    found = machine_authorities()
    if not found:
        raise ConfigError(
            f"{variable}: this machine has no list of authorities to trust: expected sslrootcert, "
            "a file (PEM) with the one that signed the server's certificate"
        )
    return found
