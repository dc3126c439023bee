"""The databases of the local stack and the sample source that lives in each.

The connector's part of a source (topics, control tables) comes from its TOML file; what a TOML
file never holds (host, port, logins) is here and in `stack.json`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files

from infra.ports import LOOPBACK
from infra.tls import Tls

OWNER = "lakehouse"
DEBEZIUM = "debezium"
READER = "lakehouse_reader"
SIGNALS = "lakehouse_signals"
ADMIN = "stack_admin"


class Engine(StrEnum):
    """A database server that the stack can run; the value is its connector's name."""

    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    MARIADB = "mariadb"


@dataclass(frozen=True, slots=True)
class SampleSource:
    """A database that the stack fills with rows; its name is the source's and the database's.

    Attributes:
        captured_schema: What a connector's lists of tables start with.
    """

    name: str
    engine: Engine
    captured_schema: str

    @property
    def sample_sql(self) -> str:
        """The SQL that makes the tables and their rows."""
        return files("infra.samples").joinpath(f"{self.name}.sql").read_text(encoding="utf-8")


SAMPLE_SOURCES = {
    sample.name: sample
    for sample in (
        SampleSource("inventory", Engine.POSTGRESQL, captured_schema="public"),
        SampleSource("shop", Engine.MYSQL, captured_schema="shop"),
        SampleSource("warehouse", Engine.MARIADB, captured_schema="warehouse"),
    )
}


@dataclass(frozen=True, slots=True)
class Database:
    """How to log in to one database.

    Attributes:
        tls: How its server is verified; None: whatever the client does at this machine.
    """

    engine: Engine
    port: int
    user: str
    password: str
    database: str
    host: str = LOOPBACK
    tls: Tls | None = None

    def __repr__(self) -> str:
        """Everything but the password, since reprs end up in logs."""
        return f"Database({self.engine} {self.user}@{self.host}:{self.port}/{self.database})"
