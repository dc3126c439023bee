"""Topics of one prefix on a real broker, landings of their source, and another reader of them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from lakehouse.config import SourceConfig, parse_source
from lakehouse.plan.records import CUTS, CutRow
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps import land
from lakehouse.steps.context import StepContext
from tests.support.archives import Message, bronze_messages

DEADLINE_S = 60
Batch = Sequence[Mapping[str, object]]


class Topics:
    """Topics of one prefix, and a source that lands them."""

    def __init__(self, spark, settings, address: str, home: Path) -> None:
        self.spark, self.address = spark, address
        self.settings = settings.model_copy(update={"home": home})
        self.prefix = f"land{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.prefix}.public.orders"
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self.ledger = Ledger(settings)
        self.bronze = Bronze(self.prefix, self.ledger)

    def source(self, kafka: str = "", **update: object) -> SourceConfig:
        text = f'connector = "postgresql"\ntopic_prefix = "{self.prefix}"\n[kafka]\n{kafka}'
        return parse_source(text, self.prefix).model_copy(update=update)

    def create(self, partitions: int = 1, topic: str = "", **config: str) -> str:
        name = topic or self.topic
        # Every five minutes a broker removes what is older than a week, as some messages here are.
        kept = {"retention.ms": "-1", **config}
        self._done(self.admin.create_topics([NewTopic(name, partitions, 1, config=kept)]))
        self._until(lambda: name in self.admin.list_topics(timeout=10).topics)
        return name

    def delete(self) -> None:
        self._done(self.admin.delete_topics([self.topic]))
        self._until(lambda: self.topic not in self.admin.list_topics(timeout=10).topics)

    def add_partitions(self, total: int) -> None:
        self._done(self.admin.create_partitions([NewPartitions(self.topic, total)]))
        self._until(lambda: len(self._metadata().partitions) == total)

    def expire_before(self, offset: int) -> None:
        at = TopicPartition(self.topic, 0, offset)
        for answer in self.admin.delete_records([at]).values():
            answer.result(DEADLINE_S)

    def send(self, count: int, **message: object) -> None:
        self.produce([{"value": b"%d" % number, **message} for number in range(count)])

    def produce(self, messages: Batch, *, commit: bool | None = None) -> None:
        """Send messages; `commit` ends a transaction with a commit or an abort."""
        transactional = {"transactional.id": uuid.uuid4().hex} if commit is not None else {}
        size = {"message.max.bytes": 20_000_000, "log_level": 0}
        producer = Producer({"bootstrap.servers": self.address, **size, **transactional})
        if commit is not None:
            producer.init_transactions(DEADLINE_S)
            producer.begin_transaction()
        for message in messages:
            producer.produce(**{"topic": self.topic, "partition": 0, **message})
        assert producer.flush(DEADLINE_S) == 0
        if commit is not None:
            (producer.commit_transaction if commit else producer.abort_transaction)(DEADLINE_S)

    def context(self, source: SourceConfig, until: datetime | None) -> StepContext:
        started = datetime(2026, 1, 1, tzinfo=UTC)
        return StepContext(
            source, self.settings, self.spark, self.ledger, "test", started, until=until
        )

    def land(self, source: SourceConfig | None = None, until: datetime | None = None):
        return land.run(self.context(source or self.source(), until))

    def topic_id(self) -> str:
        answer = self.admin.describe_topics(TopicCollection([self.topic]))[self.topic]
        return str(answer.result(DEADLINE_S).topic_id)

    def publish(self, offsets: str) -> None:
        """A published cut with these offsets."""
        cut = CutRow(
            source=self.prefix,
            cut_id="00000001",
            state="published",
            run_id="test",
            recorded_at=datetime.now(UTC),
            token=1,
            offsets=offsets,
            position="",
            transactions=0,
            tables={},
            excluded="{}",
            held_keys=0,
            identities=json.dumps({"silver.orders": [None, "public", "orders"]}),
            renames="{}",
            moves="[]",
        )
        self.ledger.append(CUTS, [cut])

    def landed(self) -> list[Message]:
        return bronze_messages(self.bronze.messages(self.spark))

    def _metadata(self):
        return self.admin.list_topics(self.topic, timeout=10).topics[self.topic]

    def _done(self, answers) -> None:
        for answer in answers.values():
            answer.result(DEADLINE_S)

    def _until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while not reached():
            assert time.monotonic() < deadline


def consumed(address: str, topics: Sequence[str]) -> list[Message]:
    """All committed messages, read by another client."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    known = consumer.list_topics(timeout=10).topics
    parts = [TopicPartition(name, n, 0) for name in topics for n in known[name].partitions]
    consumer.assign(parts)
    found = list(_until_end(consumer, len(parts)))
    consumer.close()
    return sorted(found, key=lambda message: (message.topic, message.partition, message.offset))


def _until_end(consumer: Consumer, left: int) -> Iterator[Message]:
    deadline = time.monotonic() + DEADLINE_S
    while left:
        assert time.monotonic() < deadline
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            left -= 1
            continue
        kind, timestamp = message.timestamp()
        yield Message(
            message.topic(),
            message.partition(),
            message.offset(),
            timestamp,
            message.key(),
            message.value(),
            tuple(message.headers() or ()),
            kind - 1,
        )
