"""A broker that dies or falls silent while a landing reads, and messages that go meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from lakehouse.errors import KafkaUnreachable, LakehouseError, LandingRefused
from lakehouse.failpoints import VARIABLE
from lakehouse.steps.context import StepOutcome
from tests.support.broker import Broker
from tests.support.topics import DEADLINE_S, Topics, consumed
from tests.support.valve import Valve

# More than a client fetches at once.
LARGE = [{"value": b"%07d" % number * 20_000} for number in range(100)]


@dataclass
class Landing:
    """A landing in a thread, and how it ended."""

    topics: Topics
    outcome: StepOutcome | None = None
    failure: LakehouseError | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._land)
        self.thread.start()

    def _land(self) -> None:
        try:
            self.outcome = self.topics.land()
        except LakehouseError as failure:
            self.failure = failure

    def ended(self) -> Landing:
        self.thread.join(DEADLINE_S * 2)
        assert not self.thread.is_alive()
        return self


def until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@contextmanager
def killed_inside(topics: Topics, broker: Broker, narrow: Valve) -> Iterator[Landing]:
    """A landing whose broker is killed when it has given a part of what the landing wants."""
    topics.produce(LARGE)
    narrow.close_after(len(LARGE) * len(LARGE[0]["value"]) // 2)
    landing = Landing(topics)
    until(lambda: narrow.is_closed or not landing.thread.is_alive())
    broker.kill()
    narrow.open()
    try:
        assert landing.thread.is_alive()
        yield landing
    finally:
        landing.ended()
        if not broker.is_alive:
            broker.start()


@contextmanager
def between_plan_and_read(topics: Topics, folder, monkeypatch) -> Iterator[Landing]:
    """A landing that has its plan and waits, until the block ends."""
    file = folder / "paused"
    # A step that is run without its row in `quality.runs` has no name.
    monkeypatch.setenv(VARIABLE, f"none.before_write:1:pause={file}")
    landing = Landing(topics)
    until(file.exists)
    monkeypatch.delenv(VARIABLE)
    yield landing
    file.unlink()
    landing.ended()


def landed_offsets(topics: Topics) -> list[int]:
    return [message.offset for message in topics.landed()]


@pytest.fixture
def begun(topics: Topics) -> Topics:
    """A topic of which two messages are landed."""
    topics.create()
    topics.send(2)
    topics.land()
    return topics


def test_a_landing_whose_broker_is_killed_and_comes_back_lands_every_offset_once(
    begun: Topics, broker: Broker, narrow: Valve
):
    with killed_inside(begun, broker, narrow) as landing:
        broker.start()
    assert landing.outcome is not None, landing.failure
    assert landing.outcome.counts["messages"] == len(LARGE)
    assert begun.land().counts["messages"] == 0
    assert begun.landed() == consumed(broker.address, [begun.topic])


def test_a_landing_whose_broker_stays_away_ends_in_words_and_the_next_one_lands_all(
    begun: Topics, broker: Broker, narrow: Valve, address: str, monkeypatch: pytest.MonkeyPatch
):
    before = begun.bronze.head()
    patience = {"bootstrap.servers": address, "socket.timeout.ms": 5_000}
    began = time.monotonic()
    with monkeypatch.context() as impatient:
        impatient.setenv("LAKEHOUSE_KAFKA", json.dumps(patience))
        with killed_inside(begun, broker, narrow) as landing:
            pass
    assert time.monotonic() - began < 60
    assert isinstance(landing.failure, KafkaUnreachable)
    assert str(landing.failure).startswith(f"Kafka at '{address}': no answer (")
    assert "start it" in str(landing.failure)
    assert begun.bronze.head() == before
    assert landed_offsets(begun) == [0, 1]
    assert begun.land().counts["messages"] == len(LARGE)
    assert begun.landed() == consumed(broker.address, [begun.topic])


@pytest.mark.parametrize(
    "answered",
    [
        0,
        # In the middle of its read; another of its kind is above.
        pytest.param(len(LARGE) * len(LARGE[0]["value"]) // 2, marks=pytest.mark.further),
    ],
)
def test_a_landing_whose_broker_falls_silent_ends_in_words_and_the_next_one_lands_all(
    begun: Topics,
    broker: Broker,
    narrow: Valve,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    answered: int,
):
    begun.produce(LARGE)
    before = begun.bronze.head()
    patience = {"bootstrap.servers": address, "socket.timeout.ms": 2_000}
    with monkeypatch.context() as impatient:
        impatient.setenv("LAKEHOUSE_KAFKA", json.dumps(patience))
        # Its connections stay, and nobody answers on them.
        narrow.close_after(answered)
        landing = Landing(begun).ended()
        assert broker.is_alive
        narrow.open()
    assert isinstance(landing.failure, KafkaUnreachable)
    assert str(landing.failure).startswith(f"Kafka at '{address}': no answer (")
    assert begun.bronze.head() == before
    assert landed_offsets(begun) == [0, 1]
    assert begun.land().counts["messages"] == len(LARGE)
    assert begun.landed() == consumed(broker.address, [begun.topic])


@pytest.mark.parametrize("first_left", [4, 7])
def test_offsets_deleted_between_plan_and_read_are_named_and_nothing_lands_until_accepted(
    begun: Topics, tmp_path, monkeypatch: pytest.MonkeyPatch, first_left: int
):
    begun.send(5)
    with between_plan_and_read(begun, tmp_path, monkeypatch) as landing:
        begun.expire_before(first_left)
    assert isinstance(landing.failure, LandingRefused)
    with pytest.raises(LandingRefused) as again:
        begun.land()
    for failure in (landing.failure, again.value):
        assert f"Offsets [2, {first_left}) expired before they were landed" in str(failure)
        assert f"--accept-loss {begun.topic}" in str(failure)
    assert landed_offsets(begun) == [0, 1]
    begun.land(begun.source(accept_loss=(begun.topic,)))
    begun.send(1)
    begun.land()
    assert landed_offsets(begun) == [0, 1, *range(first_left, 8)]


def test_offsets_of_a_topic_never_landed_that_go_between_plan_and_read_are_named(
    topics: Topics, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    topics.create()
    topics.send(5)
    with between_plan_and_read(topics, tmp_path, monkeypatch) as landing:
        topics.expire_before(3)
    assert isinstance(landing.failure, LandingRefused)
    assert "Offsets [0, 3) expired" in str(landing.failure)
    assert landed_offsets(topics) == []
    topics.land()
    assert landed_offsets(topics) == [3, 4]


def test_a_topic_made_again_between_plan_and_read_lands_nothing_under_the_old_ones_id(
    begun: Topics, tmp_path, monkeypatch: pytest.MonkeyPatch
):
    begun.send(2)
    with between_plan_and_read(begun, tmp_path, monkeypatch) as landing:
        begun.delete()
        begun.create()
        begun.send(9)
    assert isinstance(landing.failure, LandingRefused)
    assert "behind the read: expected" in str(landing.failure)
    assert landed_offsets(begun) == [0, 1]
