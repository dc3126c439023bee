"""A signal by table whose sender is killed beside the moment of sending is sent once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid

import pytest

from infra.sources import SAMPLE_SOURCES
from lakehouse.config import Settings, load_source
from lakehouse.failpoints import VARIABLE
from lakehouse.plan.signals.connector import Channel
from lakehouse.plan.signals.request import Action, Request
from lakehouse.signalling.requests import send
from tests.stack.conftest import REPOSITORY, Stack
from tests.support.sampling import TIMES

SAMPLED, *OTHERS = SAMPLE_SOURCES
FURTHER = [pytest.param(source, marks=pytest.mark.further) for source in OTHERS]
# As the task of a signal's Dag does it.
SENDER = """
import sys
from lakehouse.config import Settings
from tests.stack.test_killed_senders import pause
pause(Settings.from_environment(), sys.argv[1], sys.argv[2])
"""


def pause(settings: Settings, source: str, number: str) -> str:
    """Ask a connector to pause the snapshot that it does not take; gives what is told."""
    request = Request(Action.PAUSE)
    return send(request, load_source(source, settings), settings, Channel.TABLE, number).told


def killed(stack: Stack, point: str, source: str, number: str) -> int:
    """How a sender ends that is killed at a point."""
    variables = {
        VARIABLE: f"signal.{point}:1:kill",
        "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'jobs'}",
        "LAKEHOUSE_HOME": str(stack.settings.home),
        "LAKEHOUSE_SOURCES": str(stack.settings.sources),
    }
    command = [sys.executable, "-c", SENDER, source, number]
    environment = os.environ | variables
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, check=False, timeout=120
    ).returncode


@pytest.mark.parametrize("_", TIMES)
@pytest.mark.parametrize("source", [SAMPLED, *FURTHER])
@pytest.mark.parametrize(
    ("point", "told"), [("before_commit", "sent to"), ("after_commit", "is already in")]
)
def test_a_signal_whose_sender_is_killed_is_sent_once_by_the_next_one(
    stack: Stack, source: str, point: str, told: str, _: int
):
    number = str(uuid.uuid4())
    assert killed(stack, point, source, number) == -signal.SIGKILL
    assert told in pause(stack.settings, source, number)
    assert "is already in" in pause(stack.settings, source, number)
