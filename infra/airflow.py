"""Airflow's configuration and environment in the local stack.

Everything that Airflow must keep to itself (database login, signing keys) is in its
`airflow.cfg`, mode 0600; what tasks need (connections, places) is in its environment.
"""

from __future__ import annotations

import base64
import configparser
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.home import StackHome, write_private
from infra.ports import LOOPBACK
from infra.setup import layout
from infra.sources import Database
from infra.spark import spark_environment
from lakehouse.config import Settings, SourceConfig

ADMIN_USER = "admin"
# May look at everything that Airflow shows, and start nothing.
VIEWER_USER = "viewer"
_AUTH_MANAGER = "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager"


def password_file(home: StackHome) -> Path:
    """The file with the logins of Airflow's pages, as its auth manager reads it."""
    return home.airflow / "simple_auth_manager_passwords.json"


def api_url(port: int) -> str:
    """The address of Airflow's pages and REST interface."""
    return f"http://{LOOPBACK}:{port}"


def write_configuration(home: StackHome, metadata: Database, api_port: int) -> None:
    """Write `airflow.cfg` and the password file."""
    home.airflow.mkdir(parents=True, exist_ok=True)
    passwords = home.passwords()
    logins = {ADMIN_USER: passwords["airflow_admin"], VIEWER_USER: passwords["airflow_viewer"]}
    write_private(password_file(home), json.dumps(logins) + "\n")
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_dict(_settings(home, metadata, api_port))
    text = io.StringIO()
    parser.write(text)
    write_private(home.airflow / "airflow.cfg", text.getvalue())


def _settings(home: StackHome, metadata: Database, api_port: int) -> dict[str, dict[str, str]]:
    login = f"{metadata.user}:{metadata.password}@{metadata.host}:{metadata.port}"
    return {
        "core": {
            "dags_folder": str(layout.REPOSITORY / "dags"),
            "plugins_folder": str(layout.REPOSITORY / "infra" / "airflow_plugins"),
            "executor": "LocalExecutor",
            # Spark wants the two cores of a laptop; more tasks at once only wait for them.
            "parallelism": "4",
            "load_examples": "False",
            "default_timezone": "utc",
            "auth_manager": _AUTH_MANAGER,
            "simple_auth_manager_users": f"{ADMIN_USER}:admin,{VIEWER_USER}:viewer",
            "simple_auth_manager_passwords_file": str(password_file(home)),
            "execution_api_server_url": f"{api_url(api_port)}/execution/",
            # What a person stores as a connection is read with the key that it was stored with.
            "fernet_key": _fernet_key(home),
        },
        "database": {"sql_alchemy_conn": f"postgresql+psycopg2://{login}/{metadata.database}"},
        "logging": {"base_log_folder": str(home.airflow / "logs")},
        "api": {
            "host": LOOPBACK,
            "port": str(api_port),
            "base_url": api_url(api_port),
            "workers": "1",
            "secret_key": _derived_key(home, "api"),
        },
        # The components are started one by one: without a common key each would make its own.
        "api_auth": {"jwt_secret": _derived_key(home, "jwt")},
        "scheduler": {"catchup_by_default": "False"},
        "dag_processor": {"parsing_processes": "1", "refresh_interval": "10"},
        "usage_data_collection": {"enabled": "False"},
    }


def _derived_key(home: StackHome, purpose: str) -> str:
    return _derived(home, purpose).hex()


def _fernet_key(home: StackHome) -> str:
    return base64.urlsafe_b64encode(_derived(home, "fernet")).decode()


def _derived(home: StackHome, purpose: str) -> bytes:
    secret = f"{purpose}:{home.passwords()['airflow_keys']}"
    return hashlib.sha256(secret.encode()).digest()


def environment(
    home: StackHome, settings: Settings, sources: Sequence[SourceConfig], kafka: Mapping[str, str]
) -> Mapping[str, str]:
    """What Airflow's processes and their tasks find in their environment.

    Args:
        home: The stack's home.
        settings: Passed on, so that tasks work in the same places as commands.
        sources: Those that get a Kafka connection to the stack's broker.
        kafka: How they reach it, as librdkafka's properties.
    """
    broker = {"conn_type": "kafka", "extra": dict(kafka)}
    spark = {
        "conn_type": "spark",
        "host": "local[2]",
        "extra": {"spark-binary": "spark-submit", "deploy-mode": "client"},
    }
    return {
        "AIRFLOW_HOME": str(home.airflow),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(spark),
        **{
            f"AIRFLOW_CONN_{source.kafka.connection.upper()}": json.dumps(broker)
            for source in sources
        },
        **spark_environment(home.root),
        "LAKEHOUSE_HOME": str(settings.home),
        "LAKEHOUSE_SOURCES": str(settings.sources),
        "LAKEHOUSE_CATALOG_URI": settings.catalog_uri,
        "LAKEHOUSE_WAREHOUSE": settings.warehouse,
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": LOOPBACK,
        "no_proxy": LOOPBACK,
        # Else process titles overwrite the environment, by which `down` finds processes.
        "SPT_NOENV": "1",
    }
