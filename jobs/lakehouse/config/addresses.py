"""Addresses as a person writes them, and which of them leave this machine."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from lakehouse.errors import ConfigError

# Stands in an address, or beside it: nobody else reads the network.
PLAINTEXT = "lakehouse.plaintext"
_LOOPBACK = re.compile(r"localhost|127(\.\d+){3}|\[::1\]|::1", re.IGNORECASE)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, so that what is sent to it is on no network."""
    return _LOOPBACK.fullmatch(host) is not None


def read_address(uri: str, variable: str) -> SplitResult:
    """The parts of an address that may hold a password.

    Raises:
        ConfigError: It cannot be read. Nothing of it is shown: Python's own error quotes it.
    """
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        raise ConfigError(
            f"{variable}: its host and port cannot be read (the value is not shown): expected "
            "scheme://user:password@host:port/name, in user and password each of / ? # [ ] @ : % "
            "as its number, such as %2F for /"
        ) from None
    return parts


def refuse_login(parts: SplitResult, variable: str) -> None:
    """Refuse an address that has a login in it: addresses are shown in errors and settings.

    Raises:
        ConfigError: There is one. It is not shown.
    """
    if "@" in parts.netloc:
        raise ConfigError(
            f"{variable}: there is a login in the address (not shown): expected "
            f"{parts.scheme}://host:port, since addresses are shown in errors and in Spark's "
            "settings; let a proxy on this machine add the login"
        )


def allows_plaintext(parts: SplitResult) -> bool:
    """Whether nothing has to be encrypted: this machine alone is reached, or a person says so."""
    query = dict(parse_qsl(parts.query))
    return is_loopback(parts.hostname or "") or query.get(PLAINTEXT) == "true"


def refuse_unencrypted(parts: SplitResult, variable: str) -> None:
    """Refuse an address of another machine that is reached by HTTP without TLS.

    Raises:
        ConfigError: It is, and nobody allowed it.
    """
    if parts.scheme != "https" and not allows_plaintext(parts):
        raise ConfigError(
            f"{variable}: another machine would be reached without TLS: expected https://…; where "
            f"nobody else reads the network, say so behind the address: ?{PLAINTEXT}=true"
        )
