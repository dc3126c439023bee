"""Secrets on their way from Airflow to an application: through its environment alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowNotFoundException
from airflow.sdk.log import mask_secret


def kafka_variables(connection_id: str | None) -> dict[str, str]:
    """LAKEHOUSE_KAFKA from an Airflow connection; nothing where the step needs no Kafka.

    Without such a connection the application looks for its own, and says where it looked.
    """
    found = _connection(connection_id) if connection_id else None
    return {"LAKEHOUSE_KAFKA": _masked(found.extra_dejson)} if found else {}


def database_variables(source: str) -> dict[str, str]:
    """The logins of the source's database; nothing without such connections.

    LAKEHOUSE_DATABASE, which reads, is the Airflow connection `database_<source>`, and
    LAKEHOUSE_SIGNALS, which writes signals, `signals_<source>`. The application looks for the local
    stack's where there is none, and says where it looked. What the *extra* says counts before the
    connection's own fields.
    """
    reads = _login("LAKEHOUSE_DATABASE", f"database_{source}")
    return reads | _login("LAKEHOUSE_SIGNALS", f"signals_{source}")


def _login(variable: str, connection_id: str) -> dict[str, str]:
    found = _connection(connection_id)
    if found is None:
        return {}
    login = {
        "host": found.host,
        "port": found.port,
        "user": found.login,
        "password": found.password,
        "database": found.schema,
    }
    given = {name: value for name, value in login.items() if value is not None}
    return {variable: _masked({**given, **found.extra_dejson})}


def _connection(connection_id: str) -> Connection | None:
    try:
        return BaseHook.get_connection(connection_id)
    except AirflowNotFoundException:
        return None


def _masked(values: Mapping[str, object]) -> str:
    text = json.dumps(values)
    mask_secret(text)
    return text


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that processes started inside the `with` block inherit.

    The operator's own `env_vars` would put them into arguments on YARN and Kubernetes.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
