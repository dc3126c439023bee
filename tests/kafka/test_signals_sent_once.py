"""A signal whose sender dies beside the moment of sending: asked for again, it is sent once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.config import parse_source
from lakehouse.failpoints import VARIABLE
from lakehouse.plan.signals.record import Signal
from lakehouse.signalling.sending import send_by_topic
from tests.support.broker import Broker
from tests.support.sampling import TIMES
from tests.support.topics import Topics, consumed

ROOT = Path(__file__).resolve().parents[2]
SIGNAL = Signal("s-1", "execute-snapshot", '{"data-collections": ["public.orders"]}')
# As `lakehouse signal` does, whose connector a test of a broker does not have.
SENDER = """
import sys
from tests.kafka.test_signals_sent_once import send
send(sys.argv[1], sys.argv[2])
"""


def send(address: str, topic: str) -> bool:
    source = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
    return send_by_topic({"bootstrap.servers": address}, topic, source, SIGNAL)


def killed(address: str, topic: str, point: str) -> int:
    """How a sender ends that is killed at a point."""
    command = [sys.executable, "-c", SENDER, address, topic]
    variables = {VARIABLE: f"*.{point}:1:kill", "PYTHONPATH": f"{ROOT}:{ROOT / 'jobs'}"}
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, check=False, timeout=120
    ).returncode


@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize(("point", "sent"), [("before_commit", 0), ("after_commit", 1)])
def test_a_signal_whose_sender_is_killed_is_sent_once_by_the_next_one(
    topics: Topics, broker: Broker, point: str, sent: int, _: int
) -> None:
    name = topics.create(topic=f"{topics.prefix}.signals")

    assert killed(broker.address, name, point) == -signal.SIGKILL
    assert len(consumed(broker.address, [name])) == sent

    assert send(broker.address, name) is not bool(sent)
    assert send(broker.address, name) is False
    [message] = consumed(broker.address, [name])
    assert json.loads(message.value or b"")["id"] == SIGNAL.id
