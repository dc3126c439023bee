"""Settings: where a run keeps its things, read from the environment once at the edge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field

from lakehouse.errors import ConfigError

CATALOG_SCHEMES = ("sqlite", "postgresql", "http", "https")


class Settings(BaseModel):
    """Places and addresses of one installation.

    Attributes:
        home: Holds everything that a run creates.
        sources: The folder of the TOML files.
        catalog_uri: `sqlite:////abs/catalog.db`, `postgresql://…`, or `http(s)://…` for REST; not
            shown with the other settings, since it may hold a password.
        warehouse: Root of the table files, a URI.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    home: Path
    sources: Path
    catalog_uri: str = Field(repr=False)
    warehouse: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read LAKEHOUSE_HOME, _SOURCES, _CATALOG_URI and _WAREHOUSE; unset or empty: default.

        Args:
            environment: The variables; None means those of this process.

        Raises:
            ConfigError: If a variable holds what cannot be used.
        """
        given = os.environ if environment is None else environment
        home = Path(given.get("LAKEHOUSE_HOME") or ".lakehouse").absolute()
        sources = Path(given.get("LAKEHOUSE_SOURCES") or "dags/sources").absolute()
        catalog_uri = given.get("LAKEHOUSE_CATALOG_URI") or f"sqlite:///{home / 'catalog.db'}"
        warehouse = given.get("LAKEHOUSE_WAREHOUSE") or f"file://{home / 'warehouse'}"
        return cls(
            home=home,
            sources=sources,
            catalog_uri=_checked_catalog(catalog_uri),
            warehouse=_checked_warehouse(warehouse),
        )


def _checked_catalog(uri: str) -> str:
    # The value may hold a password, so nothing of it is shown but its scheme.
    parts = read_address(uri, "LAKEHOUSE_CATALOG_URI")
    scheme = parts.scheme.partition("+")[0]
    if scheme not in CATALOG_SCHEMES:
        raise ConfigError(
            f"LAKEHOUSE_CATALOG_URI: scheme {scheme!r}: expected one of "
            f"{', '.join(CATALOG_SCHEMES)}, such as sqlite:////var/lib/lakehouse/catalog.db"
        )
    if scheme.startswith("http"):
        refuse_login(parts, "LAKEHOUSE_CATALOG_URI")
    return uri


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


def _checked_warehouse(uri: str) -> str:
    if uri.startswith("/"):
        return f"file://{uri}"
    if not urlsplit(uri).scheme:
        raise ConfigError(
            f"LAKEHOUSE_WAREHOUSE: {uri!r}: expected an absolute path or a URI "
            "such as file:///var/lib/lakehouse/warehouse or s3://bucket/warehouse"
        )
    return uri
