"""The catalog's address: what of it reaches Spark and PyIceberg, and what is refused."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url

from lakehouse.config import Settings
from lakehouse.errors import ConfigError
from lakehouse.plan.catalog import pyiceberg_properties, spark_catalog_properties

TLS = "sslmode=verify-full&sslrootcert=/etc/pki/lake%20house.pem"


def settings(uri: str) -> Settings:
    return Settings.from_environment({"LAKEHOUSE_CATALOG_URI": uri})


def spark_uri(uri: str) -> str:
    return spark_catalog_properties(settings(uri))["spark.sql.catalog.lakehouse.uri"]


def pyiceberg_uri(uri: str) -> str:
    return pyiceberg_properties(settings(uri))["uri"]


def test_options_of_tls_reach_both_clients() -> None:
    uri = f"postgresql://lake:a%2Fb@far:5432/db?{TLS}"
    assert spark_uri(uri) == f"jdbc:postgresql://far:5432/db?{TLS}"
    assert pyiceberg_uri(uri) == f"postgresql+psycopg2://lake:a%2Fb@far:5432/db?{TLS}"
    options = {"sslmode": "verify-full", "sslrootcert": "/etc/pki/lake house.pem"}
    assert make_url(pyiceberg_uri(uri)).query == options


def test_what_the_driver_of_java_calls_otherwise_is_translated() -> None:
    uri = "postgresql://lake@127.0.0.1/db?application_name=lake&connect_timeout=5"
    assert spark_uri(uri) == "jdbc:postgresql://127.0.0.1/db?ApplicationName=lake&connectTimeout=5"
    assert pyiceberg_uri(uri) == uri.replace("postgresql:", "postgresql+psycopg2:")


@pytest.mark.parametrize(
    ("uri", "spark", "pyiceberg"),
    [
        (
            "postgresql://lake@[::1]:1/db",
            "jdbc:postgresql://[::1]:1/db",
            "postgresql+psycopg2://lake@[::1]:1/db",
        ),
        (
            "postgresql://lake@far/db?lakehouse.plaintext=true",
            "jdbc:postgresql://far/db",
            "postgresql+psycopg2://lake@far/db",
        ),
        (
            "postgresql+psycopg2://far/db?sslmode=verify-ca",
            "jdbc:postgresql://far/db?sslmode=verify-ca",
            "postgresql+psycopg2://far/db?sslmode=verify-ca",
        ),
        ("http://localhost:8181/x", "http://localhost:8181/x", "http://localhost:8181/x"),
        ("http://far/x?a=1&lakehouse.plaintext=true", "http://far/x?a=1", "http://far/x?a=1"),
        ("https://far/x", "https://far/x", "https://far/x"),
    ],
)
def test_a_safe_or_allowed_catalog_is_reached_at_its_own_address(
    uri: str, spark: str, pyiceberg: str
) -> None:
    assert (spark_uri(uri), pyiceberg_uri(uri)) == (spark, pyiceberg)


@pytest.mark.parametrize(
    "uri",
    [
        "http://far/x",
        "http://far/x?lakehouse.plaintext=false",
        "http://127.0.0.1.example/x",
        "postgresql://lake:s3cret@far/db",
        "postgresql+psycopg2://lake:s3cret@far/db?sslmode=require",
        "postgresql://lake:s3cret@far/db?sslmode=prefer&sslrootcert=/a.pem",
        "postgresql://lake:s3cret@/db",
    ],
)
def test_a_catalog_of_another_machine_is_not_reached_without_tls(uri: str) -> None:
    with pytest.raises(ConfigError, match=r"without TLS.*lakehouse\.plaintext=true") as refused:
        settings(uri)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("host=far", "host, user and password stand before"),
        ("password=s3cret", r"parameter \(not shown\)"),
        ("s3cret=1", r"parameter \(not shown\)"),
        ("sslrootcert=system", "expected a file"),
    ],
)
def test_an_option_that_not_both_clients_know_is_refused(option: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        settings(f"postgresql://lake@127.0.0.1/db?{option}")
    assert "s3cret" not in str(refused.value)
