"""A row that the connector only logs, written behind what was read of a source.

It is a signal of Debezium's type `log`
(https://debezium.io/documentation/reference/stable/configuration/signalling.html). Its event stands
behind the end of the log as it was, so that a cut with it has all that was read.
"""

from __future__ import annotations

import json
import secrets

from infra.clients import connection
from infra.sources import Database, Engine
from lakehouse.config import SourceConfig
from lakehouse.errors import ConfigError
from lakehouse.names import split_identifier


def write_marker(database: Database, source: SourceConfig) -> None:
    """Insert such a row into the source's `reconcile.marker`.

    Raises:
        ConfigError: The source names no table for it.
        NotReady: The database gives no answer.
    """
    parts = split_identifier(source.reconcile.marker or "")
    if parts is None:
        raise ConfigError(
            f"source {source.name!r}: reconcile.marker: expected a signal table such as "
            f"{(source.control_tables or ('public.debezium_signal',))[0]!r}"
        )
    mark = '"' if database.engine is Engine.POSTGRESQL else "`"
    table = ".".join(mark + part.replace(mark, mark * 2) + mark for part in parts)
    name = f"reconcile-{secrets.token_hex(8)}"
    data = json.dumps({"message": f"{name}: written by lakehouse reconcile"})
    with connection(database, autocommit=True) as opened:
        opened.cursor().execute(
            f"INSERT INTO {table} (id, type, data) VALUES (%s, 'log', %s)", (name, data)
        )
