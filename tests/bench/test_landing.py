"""W1: messages of Kafka into bronze, against a consumer that writes the same columns as Parquet.

`BENCH_MESSAGES` (200000), `BENCH_TOPICS` (`1,200`), `BENCH_ROUNDS` (3, behind one that warms up).
Both read the same topics in turns, the product each time for a source of its own; what the broker
takes is told apart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.bench.accounts import Batch
from tests.bench.cpu import Cost, median, process_seconds, took
from tests.bench.limits import told_by
from tests.bench.messages import PREFIX, changes, topic, wide
from tests.support.broker import Broker, running_broker
from tests.support.runs import Runs

_Result = TypeVar("_Result")
MESSAGES = int(os.environ.get("BENCH_MESSAGES", "200000"))
TOPICS = [int(text) for text in os.environ.get("BENCH_TOPICS", "1,200").split(",")]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
SHAPES: dict[str, Callable[[SparkSession, Batch, range], DataFrame]] = {
    "narrow": changes,
    "60 columns": wide,
}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "case", [(shape, topics) for topics in TOPICS for shape in SHAPES], ids=str
)
def test_landing_beside_a_consumer(
    spark: SparkSession,
    settings: Settings,
    tmp_path: Path,
    figure: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    case: tuple[str, int],
) -> None:
    shape, topics = case
    with running_broker(tmp_path / "broker") as broker:
        monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": broker.address}))
        batch = Batch(1, MESSAGES // topics, 1_000_000)
        _produce(broker, SHAPES[shape](spark, batch, range(topics)), topics)
        count = batch.changes * topics
        found: dict[str, list[Cost]] = {"land": [], "limit": [], "broker": []}
        for number in range(ROUNDS + 1):
            name = f"land_{shape[:2].strip()}_{topics}_{number}"
            (cost, outcome), brokers = _beside(broker, partial(_landed, spark, settings, name))
            assert outcome.counts["messages"] == count
            found["land"].append(Cost(cost.cpu - brokers, cost.wall))
            found["broker"].append(Cost(brokers, cost.wall))
            found["limit"].append(_limit(broker, topics, tmp_path / f"{name}.parquet", count))
    land, limit, brokers = (median(each[1:]) for each in found.values())
    figure(
        f"{count} messages ({shape}) of {topics} topics: land {land.cpu:.2f} CPU s, "
        f"{count / land.wall:,.0f}/s; the consumer {limit.cpu:.2f} CPU s, "
        f"{count / limit.wall:,.0f}/s; {land.cpu / limit.cpu:.2f}x its CPU, "
        f"{limit.wall / land.wall:.0%} of its rate; the broker {brokers.cpu:.2f} CPU s"
    )


def _produce(broker: Broker, messages: DataFrame, topics: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    made = admin.create_topics([NewTopic(topic(number), 1, 1) for number in range(topics)])
    for answer in made.values():
        answer.result(60)
    producer = Producer({"bootstrap.servers": broker.address})
    for row in messages.select("topic", "key", "value").toLocalIterator():
        while True:
            try:
                producer.produce(row["topic"], bytes(row["value"]), bytes(row["key"]))
            except BufferError:
                producer.poll(1)
            else:
                break
    assert producer.flush(60) == 0


def _landed(spark: SparkSession, settings: Settings, name: str) -> tuple[Cost, StepOutcome]:
    """Land all topics for a source that has nothing yet."""
    text = f'connector = "postgresql"\ntopic_prefix = "{PREFIX}"\n'
    context = Runs(spark, settings, settings.home, parse_source(text, name)).context()
    cost, outcome = took(partial(execute, "land", context))
    assert outcome.status == "succeeded", outcome.message
    return cost, outcome


def _beside(broker: Broker, work: Callable[[], _Result]) -> tuple[_Result, float]:
    """What work gives, and the CPU seconds that the broker took meanwhile."""
    before = process_seconds(broker.pid)
    found = work()
    return found, process_seconds(broker.pid) - before


def _limit(broker: Broker, topics: int, out: Path, count: int) -> Cost:
    asked = {
        "address": broker.address,
        "topics": [topic(number) for number in range(topics)],
        "out": str(out),
    }
    cost, found = told_by("tests.bench.consumer", asked)
    assert found["messages"] == count, found
    return cost
