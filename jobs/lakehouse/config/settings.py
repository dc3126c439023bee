"""Settings: where a run keeps its things, read from the environment once at the edge."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from lakehouse.config.catalog import checked_catalog
from lakehouse.errors import ConfigError


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
            catalog_uri=checked_catalog(catalog_uri),
            warehouse=_checked_warehouse(warehouse),
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
