"""A broker of its own for each file: tests kill it, take messages from it, or lock it up."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from infra.ports import LOOPBACK
from tests.support.broker import Broker, running_broker
from tests.support.topics import Topics
from tests.support.valve import Valve, valve


@pytest.fixture(scope="module")
def narrow() -> Iterator[Valve]:
    """What stands between landing and the broker; it is open."""
    with valve() as made:
        yield made


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, narrow: Valve) -> Iterator[Broker]:
    """A broker that lets in everybody, and that landing reaches through a valve."""
    at = f"PLAINTEXT://{LOOPBACK}:{{plain}},NARROW://{LOOPBACK}:"
    listener = {
        "listeners": f"{at}{{port}},CONTROLLER://{LOOPBACK}:{{controller}}",
        "advertised.listeners": f"{at}{narrow.port}",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,NARROW:PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
    }
    with running_broker(tmp_path_factory.mktemp("broker"), narrow=listener) as broker:
        narrow.serve(broker.ports["narrow"])
        yield broker


@pytest.fixture
def address(narrow: Valve) -> str:
    """Where landing reaches the broker."""
    return f"{LOOPBACK}:{narrow.port}"


@pytest.fixture
def topics(
    spark, settings, broker: Broker, address: str, monkeypatch: pytest.MonkeyPatch
) -> Topics:
    """Topics of a source that lands from it."""
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": address}))
    return Topics(spark, settings, broker.address, settings.home)
