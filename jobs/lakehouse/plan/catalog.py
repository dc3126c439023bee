"""How Spark and PyIceberg reach the one catalog `lakehouse`, as plain properties.

In: the catalog's URI and the warehouse of `Settings`. Out: a Spark configuration and PyIceberg
catalog properties that name the same tables (Iceberg's documentation, "JDBC catalog" and
"Spark configuration"; PyIceberg's "SQL catalog").
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote, urlencode, urlsplit

from lakehouse.config import Settings
from lakehouse.config.catalog import POSTGRESQL_OPTIONS, catalog_options

CATALOG = "lakehouse"
_SPARK = f"spark.sql.catalog.{CATALOG}"
_SQLITE_PREFIX = "sqlite:///"
# How long either client waits for a catalog file that another process has locked.
BUSY_TIMEOUT_S = 30


def spark_catalog_properties(settings: Settings) -> dict[str, str]:
    """The `spark.sql.catalog.*` entries; passwords are in it, so it is never logged."""
    scheme = urlsplit(settings.catalog_uri).scheme.partition("+")[0]
    kind = "rest" if scheme.startswith("http") else "jdbc"
    properties = {
        _SPARK: "org.apache.iceberg.spark.SparkCatalog",
        f"{_SPARK}.type": kind,
        f"{_SPARK}.warehouse": settings.warehouse,
        # A cached table hides what other sessions committed.
        f"{_SPARK}.cache-enabled": "false",
    }
    if kind == "rest":
        return properties | {f"{_SPARK}.uri": _own_options(settings.catalog_uri)}
    return properties | {
        f"{_SPARK}.{name}": value for name, value in _jdbc(settings.catalog_uri).items()
    }


def pyiceberg_properties(settings: Settings) -> dict[str, str]:
    """The properties of PyIceberg's catalog of the same name."""
    uri = settings.catalog_uri
    if urlsplit(uri).scheme.startswith("http"):
        return {"type": "rest", "uri": _own_options(uri), "warehouse": settings.warehouse}
    if uri.startswith("postgresql://"):
        uri = uri.replace("postgresql://", "postgresql+psycopg2://", 1)
    if uri.startswith(_SQLITE_PREFIX):
        uri = f"{uri}?timeout={BUSY_TIMEOUT_S}"
    return {
        "type": "sql",
        "uri": _own_options(uri),
        "warehouse": settings.warehouse,
        "init_catalog_tables": "true",
    }


def _jdbc(uri: str) -> Mapping[str, str]:
    if uri.startswith(_SQLITE_PREFIX):
        path = uri.removeprefix(_SQLITE_PREFIX)
        address = {"uri": f"jdbc:sqlite:{path}?busy_timeout={BUSY_TIMEOUT_S * 1000}"}
    else:
        parts = urlsplit(uri)
        port = f":{parts.port}" if parts.port else ""
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        options = {POSTGRESQL_OPTIONS[n]: text for n, text in catalog_options(parts).items()}
        query = f"?{_encoded(options)}" if options else ""
        address = {"uri": f"jdbc:postgresql://{host}{port}{parts.path}{query}"}
        if parts.username:
            address["jdbc.user"] = unquote(parts.username)
        if parts.password:
            address["jdbc.password"] = unquote(parts.password)
    return {**address, "jdbc.schema-version": "V1", "init-catalog-tables": "true"}


def _own_options(uri: str) -> str:
    """An address with the options that are a client's own."""
    parts = urlsplit(uri)
    if uri.startswith("sqlite") or not parts.query:
        return uri
    return parts._replace(query=_encoded(catalog_options(parts))).geturl()


def _encoded(options: Mapping[str, str]) -> str:
    return urlencode(options, safe="/", quote_via=quote)
