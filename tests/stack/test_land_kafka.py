"""Landing from a real broker: every message once, byte for byte; what is lost is refused."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from infra.kafka_grants import Grant, allow
from infra.kafka_logins import LAKEHOUSE
from lakehouse.errors import KafkaUnreachable, LandingRefused
from lakehouse.plan.event_position import shown_position
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.kafka import read_topics
from lakehouse.spark.landing.lag import measure_lag
from lakehouse.steps import land
from lakehouse.steps.archive import archive
from lakehouse.steps.context import StepContext, StepOutcome
from tests.support.archives import Message, bronze_messages, read_archive
from tests.support.topics import Batch, Topics, consumed


@pytest.fixture
def topics(spark, settings, stack) -> Topics:
    topics = Topics(spark, settings, stack.state.kafka, stack.settings.home)
    grant = Grant(topics.prefix, ("READ", "DESCRIBE_CONFIGS"), prefixed=True)
    allow(topics.admin, LAKEHOUSE, grant)
    return topics


@pytest.mark.parametrize("name", ["inventory", "shop", "warehouse"])
def test_the_topics_of_a_real_connector_land_whole(spark, settings, stack, name):
    stack.barrier(name)
    source = stack.source(name)
    bronze = Bronze(name, Ledger(settings))
    shared = settings.model_copy(update={"home": stack.settings.home})
    started = datetime(2026, 1, 1, tzinfo=UTC)
    context = StepContext(source, shared, spark, bronze.ledger, "test", started)
    outcome = land.run(context)
    plan = outcome.detail["offsets"]
    found = [
        message
        for message in consumed(stack.state.kafka, sorted(plan))
        if message.offset < plan[message.topic]["partitions"][str(message.partition)]
    ]
    assert bronze_messages(bronze.messages(spark)) == found
    assert outcome.counts["messages"] == len(found) > 100


SPECIAL: Batch = [
    {"key": b"k", "value": b"v", "headers": [("a", b"b"), ("a", b""), ("n", None)]},
    {"key": None, "value": None},
    {"key": b"", "value": b""},
    {"key": b"\xff", "value": b"\x00\xfe", "headers": [("bin", b"\xff\xfe")]},
    {"key": b"k", "value": 'üñí😀\u0000\\"\u2028'.encode(), "partition": 1},
    {"key": b"k", "value": b"x" * 5_000_000, "partition": 2},
]


def test_every_message_lands_byte_for_byte_and_comes_back_from_an_archive(topics, tmp_path):
    topics.create(3)
    late = topics.create(
        topic=f"{topics.prefix}.transaction", **{"message.timestamp.type": "LogAppendTime"}
    )
    topics.produce([*SPECIAL, {"topic": late, "value": b"{}"}])
    topics.land()
    expected = consumed(topics.address, [topics.topic, late])
    assert topics.landed() == expected
    assert [message.timestamp_type for message in expected] == [0] * 6 + [1]
    for origin in ("kafka", "bronze"):
        folder = tmp_path / origin
        archive(topics.spark, topics.source(), topics.settings, origin, folder)
        assert read_archive(folder) == expected


def test_landing_goes_on_where_it_ended(topics):
    topics.create(2)
    counts = []
    for number in (3, 0, 2):
        topics.produce([{"value": b"%d" % at, "partition": at % 2} for at in range(number)])
        outcome: StepOutcome = topics.land()
        counts.append(outcome.counts["messages"])
    assert counts == [3, 0, 2]
    assert topics.landed() == consumed(topics.address, [topics.topic])


def test_aborted_messages_do_not_land_and_leave_gaps(topics):
    topics.create()
    topics.produce([{"value": b"1"}, {"value": b"2"}], commit=True)
    topics.produce([{"value": b"no"}] * 50, commit=False)
    topics.land()
    assert [message.value for message in topics.landed()] == [b"1", b"2"]
    topics.produce([{"value": b"no"}] * 3, commit=False)
    topics.produce([{"value": b"3"}], commit=True)
    topics.produce([{"value": b"no"}] * 3, commit=False)
    topics.land()
    assert [message.value for message in topics.landed()] == [b"1", b"2", b"3"]
    assert topics.landed() == consumed(topics.address, [topics.topic])
    assert topics.land().counts["messages"] == 0


def test_the_data_interval_ends_landing_early(topics):
    topics.create()
    start_ms = 1_770_000_000_000
    for second in range(4):
        topics.produce([{"value": b"%d" % second, "timestamp": start_ms + second * 1000}])
    topics.land(until=datetime.fromtimestamp(start_ms / 1000 + 2, UTC))
    assert [message.value for message in topics.landed()] == [b"0", b"1"]
    topics.land(until=datetime.fromtimestamp(start_ms / 1000 + 1, UTC))
    topics.land(until=datetime.fromtimestamp(start_ms / 1000 + 100, UTC))
    assert [message.value for message in topics.landed()] == [b"0", b"1", b"2", b"3"]


def accepted(topics: Topics) -> list[Message]:
    """Land with the loss of the topic accepted."""
    topics.land(topics.source(accept_loss=(topics.topic,)))
    return topics.landed()


def test_expired_offsets_are_refused_with_their_range_until_they_are_accepted(topics):
    topics.create()
    topics.send(3)
    topics.land()
    topics.send(5)
    topics.expire_before(6)
    with pytest.raises(LandingRefused, match=r"Offsets \[3, 6\) expired before they were landed"):
        topics.land()
    assert len(topics.landed()) == 3
    assert [message.offset for message in accepted(topics)] == [0, 1, 2, 6, 7]


def test_offsets_that_expire_after_landing_are_no_loss(topics):
    topics.create()
    topics.send(3)
    topics.land()
    topics.expire_before(3)
    topics.send(2)
    topics.land()
    assert [message.offset for message in topics.landed()] == [0, 1, 2, 3, 4]


def test_a_topic_created_again_with_more_messages_is_refused_until_it_is_accepted(topics):
    topics.create()
    topics.send(2)
    topics.land()
    topics.delete()
    topics.create()
    topics.send(5)
    with pytest.raises(LandingRefused, match="was deleted and created again"):
        topics.land()
    assert len(topics.landed()) == 2
    assert len(accepted(topics)) == 7
    assert topics.land().counts["messages"] == 0


def test_a_raised_partition_count_is_refused_until_it_is_accepted(topics):
    topics.create()
    topics.send(2)
    topics.land()
    topics.add_partitions(3)
    topics.send(1, partition=2)
    with pytest.raises(LandingRefused, match="3 partitions: expected 1, as landed so far"):
        topics.land()
    assert [message.partition for message in accepted(topics)] == [0, 0, 2]


def test_a_deleted_topic_is_refused(topics):
    other = topics.create(topic=f"{topics.prefix}.public.other")
    topics.create()
    topics.send(1)
    topics.land()
    topics.delete()
    with pytest.raises(LandingRefused, match=f"{topics.topic}': does not exist any more"):
        topics.land()
    assert other in topics.land(topics.source(accept_loss=(topics.topic,))).detail["offsets"]


def test_a_missing_topic_is_named(topics):
    topics.create()
    named = topics.source('topics = ["no.such.topic", ".*orders"]')
    with pytest.raises(LandingRefused, match=r"'no\.such\.topic': does not exist"):
        topics.land(named)


def test_a_source_without_topics_is_refused(topics):
    with pytest.raises(LandingRefused, match="no topic matches"):
        topics.land()


def test_a_broker_that_does_not_answer_is_named_within_seconds(topics):
    began = time.monotonic()
    with pytest.raises(KafkaUnreachable, match=r"Kafka at '127\.0\.0\.1:1': no answer \(.*refused"):
        read_topics(topics.source(), {"bootstrap.servers": "127.0.0.1:1"})
    assert time.monotonic() - began < 25


def test_lag_is_what_waits_behind_the_newest_cut_in_messages_and_time(topics):
    topics.create(2)
    start_ms = 1_770_000_000_000
    source_block = '"source": {"sequence": "[\\"7\\",\\"%d\\"]"}'
    topics.produce(
        [
            {
                "value": ("{%s}" % (source_block % number)).encode(),
                "timestamp": start_ms + number * 1000,
                "partition": number % 2,
            }
            for number in range(10)
        ]
    )
    topics.produce([{"value": None, "timestamp": start_ms + 10_000}], commit=True)
    measured = measure_lag(topics.source(), topics.settings, topics.ledger)
    [lag] = measured.tables
    # The commit's marker has an offset too.
    assert (lag.table, lag.messages) == (topics.topic, 12)
    assert lag.waits_since == datetime.fromtimestamp(start_ms / 1000, UTC)

    ends = {"id": topics.topic_id(), "partitions": {"0": 3, "1": 5}}
    topics.publish(json.dumps({topics.topic: ends}))
    [lag] = measure_lag(topics.source(), topics.settings, topics.ledger).tables
    assert (lag.table, lag.messages, lag.silver) == ("public.orders", 4, "silver.orders")
    assert lag.waits_since == datetime.fromtimestamp(start_ms / 1000 + 6, UTC)
    assert shown_position(lag.position) == "7.9"
