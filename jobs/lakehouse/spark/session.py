"""The Spark session of every job: catalog, time zone and the settings that results depend on."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.catalog import spark_catalog_properties

_EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


def spark_session(app_name: str, settings: Settings) -> SparkSession:
    """The session with the catalog `lakehouse`; the master and the jars come from spark-submit.

    Args:
        app_name: Shown in Spark's pages.
        settings: Names the catalog and the warehouse.
    """
    _make_local_folders(settings)
    builder = SparkSession.builder.appName(app_name)
    for key, value in session_properties(settings).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def session_properties(settings: Settings) -> dict[str, str]:
    """What a session needs whatever master it runs on."""
    return {
        "spark.sql.extensions": _EXTENSIONS,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "true",
        # Column names are told apart by the source, not by Spark, up to their case.
        "spark.sql.caseSensitive": "false",
        "spark.sql.iceberg.vectorization.enabled": "true",
        **spark_catalog_properties(settings),
    }


def _make_local_folders(settings: Settings) -> None:
    """SQLite and a file warehouse need their folders to exist."""
    if settings.catalog_uri.startswith("sqlite:///"):
        Path(settings.catalog_uri.removeprefix("sqlite:///")).parent.mkdir(
            parents=True, exist_ok=True
        )
    if urlsplit(settings.warehouse).scheme == "file":
        Path(urlsplit(settings.warehouse).path).mkdir(parents=True, exist_ok=True)
