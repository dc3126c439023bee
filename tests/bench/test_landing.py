"""W1: messages of Kafka into bronze, against a consumer that writes the same columns as Parquet.

`BENCH_MESSAGES`, `BENCH_TOPICS`, `BENCH_ROUNDS` (behind one that warms up).
Both read the same topics in turns, the product each time for a source of its own; what the broker
takes is told apart.
"""

from __future__ import annotations

import json
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
from tests.bench import sizes
from tests.bench.accounts import Batch
from tests.bench.cpu import Cost, process_seconds, took
from tests.bench.limits import told_by
from tests.bench.messages import PREFIX, changes, topic, wide
from tests.bench.results import Result, cpu_ratios, measured, wall_ratios
from tests.support.broker import Broker, running_broker
from tests.support.runs import Runs

_Result = TypeVar("_Result")
MESSAGES = sizes.number("MESSAGES", 2_000_000, 50_000)
TOPICS = sizes.numbers("TOPICS", "1,200", "1")
_EACH_PART = 10_000
ROUNDS = sizes.number("ROUNDS", 3, 1)
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
    result: Callable[[Result], None],
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
    place = ("W1", f"{count:,} messages, {shape}, {topics} topics")
    for name, costs in found.items():
        result(measured(place, name, (cost.cpu for cost in costs[1:]), "CPU s"))
    for name in ("land", "limit"):
        rates = (count / cost.wall for cost in found[name][1:])
        result(measured(place, name, rates, "messages/s"))
    land, limit = found["land"][1:], found["limit"][1:]
    beside = "land beside the consumer"
    result(measured(place, beside, cpu_ratios(land, limit), "times the CPU", "at most 2.5"))
    result(measured(place, beside, wall_ratios(limit, land), "of the rate", "at least 0.4"))


def _produce(broker: Broker, messages: DataFrame, topics: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    made = admin.create_topics([NewTopic(topic(number), 1, 1) for number in range(topics)])
    for answer in made.values():
        answer.result(60)
    producer = Producer({"bootstrap.servers": broker.address})
    # What the driver has of them at a time is one part.
    count = MESSAGES // _EACH_PART
    parts = messages.repartitionByRange(count, "offset").sortWithinPartitions("topic", "offset")
    for row in parts.select("topic", "key", "value").toLocalIterator():
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
