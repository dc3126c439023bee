"""The catalog's address: of a kind that both clients know, and encrypted beyond this machine.

The value may hold a password, so nothing of it is shown but its scheme.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl

from lakehouse.config.addresses import PLAINTEXT, allows_plaintext, read_address, refuse_login
from lakehouse.errors import ConfigError

CATALOG_SCHEMES = ("sqlite", "postgresql", "http", "https")
# libpq's name → that of PostgreSQL's JDBC driver. An address names neither host nor password here.
POSTGRESQL_OPTIONS: Mapping[str, str] = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "application_name": "ApplicationName",
    "connect_timeout": "connectTimeout",
    "options": "options",
}
_VARIABLE = "LAKEHOUSE_CATALOG_URI"
_VERIFIED = ("verify-full", "verify-ca")


def checked_catalog(uri: str) -> str:
    """The address, if both clients can use it.

    Raises:
        ConfigError: They cannot, or another machine would be reached without TLS and nobody
            allowed it.
    """
    parts = read_address(uri, _VARIABLE)
    scheme = parts.scheme.partition("+")[0]
    if scheme not in CATALOG_SCHEMES:
        raise ConfigError(
            f"{_VARIABLE}: scheme {scheme!r}: expected one of "
            f"{', '.join(CATALOG_SCHEMES)}, such as sqlite:////var/lib/lakehouse/catalog.db"
        )
    if scheme.startswith("http"):
        refuse_login(parts, _VARIABLE)
    if scheme == "postgresql":
        _check_options(catalog_options(parts))
    if scheme != "sqlite" and not _is_safe(scheme, parts):
        raise ConfigError(
            f"{_VARIABLE}: a {scheme} catalog on another machine would be reached without TLS: "
            "expected https://…, or postgresql://…?sslmode=verify-full&sslrootcert=FILE (its "
            "authority's certificate); where nobody else reads the network, say so behind the ? "
            f"of the address: {PLAINTEXT}=true"
        )
    return uri


def catalog_options(parts: SplitResult) -> dict[str, str]:
    """What stands behind the `?` of an address, but for what is said to this project."""
    return {name: text for name, text in _query(parts).items() if name != PLAINTEXT}


def _query(parts: SplitResult) -> dict[str, str]:
    return dict(parse_qsl(parts.query, keep_blank_values=True))


def _check_options(options: Mapping[str, str]) -> None:
    if options.keys() - POSTGRESQL_OPTIONS.keys():
        raise ConfigError(
            f"{_VARIABLE}: there is a parameter (not shown) that Spark's driver and libpq do not "
            f"both know: expected some of {', '.join(POSTGRESQL_OPTIONS)}, {PLAINTEXT}; host, "
            "user and password stand before the ?"
        )
    if options.get("sslrootcert") == "system":
        raise ConfigError(
            f"{_VARIABLE}: sslrootcert=system: expected a file, which Spark's driver reads too, "
            "such as /etc/ssl/certs/ca-certificates.crt"
        )


def _is_safe(scheme: str, parts: SplitResult) -> bool:
    is_verified = scheme == "https" or (
        scheme == "postgresql" and _query(parts).get("sslmode") in _VERIFIED
    )
    return is_verified or allows_plaintext(parts)
