"""stack.json: what runs and how to reach it, for commands, jobs and people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Self

from infra.errors import StackError
from infra.home import StackHome, write_private
from infra.processes import ProcessRecord
from infra.sources import Database, Engine

_LOGINS = ("sources", "readers", "signals")


@dataclass(frozen=True, slots=True)
class AirflowAddress:
    """Where Airflow is and who logs in; the password is in a file of its own."""

    url: str
    user: str
    password_file: str


@dataclass(frozen=True, slots=True)
class StackState:
    """The servers that were started and their addresses; None or empty where not started.

    Attributes:
        kafka: Where its broker answers its own parts, without a login.
        lakehouse_kafka: How the lakehouse reaches it, as librdkafka's properties.
        sources: Source → the login that owns its tables; `readers`: the one that may read them;
            `signals`: the one that may write signals and nothing else.
    """

    processes: tuple[ProcessRecord, ...] = ()
    ports: Mapping[str, int] = field(default_factory=dict)
    kafka: str | None = None
    lakehouse_kafka: Mapping[str, str] = field(default_factory=dict)
    connect: str | None = None
    airflow: AirflowAddress | None = None
    sources: Mapping[str, Database] = field(default_factory=dict)
    readers: Mapping[str, Database] = field(default_factory=dict)
    signals: Mapping[str, Database] = field(default_factory=dict)

    def with_process(self, record: ProcessRecord) -> Self:
        """This state with a process more; it takes the place of an older one of its server."""
        others = tuple(kept for kept in self.processes if kept.server != record.server)
        return replace(self, processes=(*others, record))

    def find_process(self, server: str) -> ProcessRecord | None:
        """The recorded process of a server."""
        return next((found for found in self.processes if found.server == server), None)

    def write(self, home: StackHome) -> None:
        """Write stack.json, readable for its owner only."""
        document = {
            **({"broker": {"bootstrap.servers": self.kafka}} if self.kafka else {}),
            **({"kafka": dict(self.lakehouse_kafka)} if self.lakehouse_kafka else {}),
            **({"connect": {"url": self.connect}} if self.connect else {}),
            **({"airflow": asdict(self.airflow)} if self.airflow else {}),
            **{kind: _documents(getattr(self, kind)) for kind in _LOGINS},
            "ports": dict(self.ports),
            "processes": [asdict(record) for record in self.processes],
        }
        write_private(home.state_file, json.dumps(document, indent=2) + "\n")


def read_state(home: StackHome) -> StackState:
    """What stack.json says; the empty state if there is none.

    Raises:
        StackError: the file is there but cannot be read.
    """
    try:
        found = json.loads(home.state_file.read_text(encoding="utf-8"))
        return StackState(
            processes=tuple(ProcessRecord(**record) for record in found["processes"]),
            ports=found["ports"],
            kafka=found.get("broker", {}).get("bootstrap.servers"),
            lakehouse_kafka=found.get("kafka", {}),
            connect=found.get("connect", {}).get("url"),
            airflow=AirflowAddress(**found["airflow"]) if "airflow" in found else None,
            **{kind: _databases(found.get(kind, {})) for kind in _LOGINS},
        )
    except FileNotFoundError:
        return StackState()
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise StackError(
            f"{str(home.state_file)!r} cannot be read ({broken}): expected what `lakehouse up` "
            "writes; remove the file and run `lakehouse down`, which finds the processes anyway"
        ) from broken


def _documents(logins: Mapping[str, Database]) -> dict[str, object]:
    return {name: asdict(database) for name, database in logins.items()}


def _databases(entries: Mapping[str, Mapping[str, object]]) -> dict[str, Database]:
    return {name: _database(entry) for name, entry in entries.items()}


def _database(entry: Mapping[str, object]) -> Database:
    return Database(
        engine=Engine(str(entry["engine"])),
        port=int(str(entry["port"])),
        user=str(entry["user"]),
        password=str(entry["password"]),
        database=str(entry["database"]),
        host=str(entry["host"]),
    )
