"""Tables of PostgreSQL whose changes a connector of their own sends, in one of four shapes.

The stack's PostgreSQL, Kafka and Connect do it: narrow rows or 60 columns, each message with its
schema or without. One transaction has a thousand changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from confluent_kafka import Consumer, TopicPartition

from infra.clients import connection, kafka_admin, query, run_sql
from infra.connect_api import ConnectApi
from infra.errors import NotReady
from infra.home import StackHome
from infra.kafka_grants import allow, connector_grants
from infra.kafka_logins import CONNECT, connect_properties
from infra.registrations import SECRETS_FILE, Surroundings, plan_registration
from infra.sources import Database
from infra.state import StackState
from lakehouse.config import SourceConfig, parse_source
from tests.bench import accounts
from tests.bench.messages import DECLARED, WIDE

_TRANSACTION, _DEADLINE_S = 1_000, 600
_PLAIN = {name: DECLARED[kind] for name, kind in accounts.COLUMNS.items()}
COLUMNS = MappingProxyType({"narrow": _PLAIN, "wide": {**_PLAIN, **dict.fromkeys(WIDE, "varchar")}})
_FIGURES = "count(*), sum(aid)::bigint, sum(abalance)::bigint, max(filler)"


@dataclass(frozen=True)
class Streamed:
    """One table and its connector.

    Attributes:
        shape: `narrow` or `wide`.
        has_schema: Whether each message has its schema.
    """

    stack: StackState
    home: StackHome
    inventory: SourceConfig
    shape: str
    has_schema: bool

    @property
    def name(self) -> str:
        """Of the table, the source and its topics' prefix."""
        return f"{self.shape}_{'with' if self.has_schema else 'without'}"

    @property
    def topic(self) -> str:
        """Where its changes are."""
        return f"{self.name}.public.{self.name}"

    @property
    def source(self) -> SourceConfig:
        """As a TOML file says it: messages without schema have the types that it declares."""
        text = f'connector = "postgresql"\ntopic_prefix = "{self.name}"\n'
        if not self.has_schema:
            columns = COLUMNS[self.shape].items()
            text += f'[tables."public.{self.name}".columns]\n'
            text += "".join(f'{name} = {{ type = "{kind}" }}\n' for name, kind in columns)
        return parse_source(text, self.name)

    @property
    def _database(self) -> Database:
        return self.stack.sources["inventory"]

    @property
    def _connect(self) -> ConnectApi:
        return ConnectApi(str(self.stack.connect))

    def create(self) -> None:
        """Make the empty table, and a connector that waits for its changes."""
        columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS[self.shape].items())
        run_sql(self._database, f"CREATE TABLE {self.name} ({columns}, PRIMARY KEY (aid))")
        allow(kafka_admin(str(self.stack.kafka)).admin, CONNECT, *connector_grants(self.source))
        kafka = connect_properties(self.home.secrets / SECRETS_FILE, self.stack.ports)
        surroundings = Surroundings(kafka, self.home.secrets)
        planned = plan_registration(self.inventory, self._database, surroundings).config
        signals = {name for name in planned if name.startswith(("signal.", "notification."))}
        config = {name: text for name, text in planned.items() if name not in signals}
        config |= {
            "topic.prefix": self.name,
            "table.include.list": f"public.{self.name}",
            "slot.name": f"debezium_{self.name}",
            "key.converter.schemas.enable": str(self.has_schema).lower(),
            "value.converter.schemas.enable": str(self.has_schema).lower(),
        }
        config.pop("schema.include.list")
        # Else two connectors read each change.
        self._connect.stop(self.inventory.name)
        self._connect.register(self.name, config)
        _until(lambda: self._connect.status(self.name).is_running)
        slots = "SELECT 1 FROM pg_replication_slots WHERE active AND slot_name = %s"
        _until(lambda: bool(query(self._database, slots, [config["slot.name"]])))

    def stop(self) -> None:
        """Let the connector stand still."""
        self._connect.stop(self.name)
        _until(lambda: not self._connect.status(self.name).tasks)

    def resume(self) -> None:
        """Let it go on."""
        self._connect.resume(self.name)

    def insert(self, first: int, count: int) -> None:
        """Insert rows from a key on."""
        more = "".join(
            f", 'column {name} of ' || k" for name in COLUMNS[self.shape] if name in WIDE
        )
        rows = f"SELECT k, k % 1000, k, lpad(k::text, 84){more} FROM generate_series(lo, hi) AS k"
        self._do(f"INSERT INTO {self.name} {rows}", first, count)

    def update(self, first: int, count: int) -> None:
        """Update rows from a key on."""
        change = "abalance = abalance + 1, filler = lpad((aid + abalance)::text, 84)"
        self._do(f"UPDATE {self.name} SET {change} WHERE aid BETWEEN lo AND hi", first, count)

    def _do(self, statement: str, first: int, count: int) -> None:
        last = first + count - 1
        loop = (
            f"FOR n IN 0..{(count - 1) // _TRANSACTION} LOOP lo := {first} + n * {_TRANSACTION}; "
            f"hi := least(lo + {_TRANSACTION - 1}, {last}); {statement}; COMMIT; END LOOP"
        )
        with connection(self._database, autocommit=True) as opened:
            opened.cursor().execute(f"DO $$ DECLARE lo bigint; hi bigint; BEGIN {loop}; END $$")

    def sent(self) -> int:
        """How many changes are in Kafka."""
        return kafka_admin(str(self.stack.kafka)).end_offsets([self.topic]).get((self.topic, 0), 0)

    def await_sent(self, count: int) -> None:
        """Wait until so many changes are in Kafka."""
        _until(lambda: self.sent() >= count)

    def rate(self, first: int, last: int) -> float:
        """Changes a second that the connector sent between two offsets."""
        return (last - first) / (self.sent_at(last) - self.sent_at(first))

    def sent_at(self, offset: int) -> float:
        """When a change was sent, in seconds since the epoch."""
        consumer = Consumer(
            {
                "bootstrap.servers": str(self.stack.kafka),
                "group.id": "bench",
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(self.topic, 0, offset)])
        message = consumer.poll(60)
        consumer.close()
        assert message is not None
        return float(message.timestamp()[1]) / 1000

    def figures(self) -> tuple[object, ...]:
        """What the table has: rows, sums, the greatest filler."""
        return query(self._database, f"SELECT {_FIGURES} FROM {self.name}")[0]


def _until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while not _is(reached):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _is(reached: Callable[[], bool]) -> bool:
    """Whether it is so; a connector that was just made has no status."""
    try:
        return reached()
    except NotReady:
        return False
