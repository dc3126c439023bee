"""The Kafka broker: one KRaft node, no ZooKeeper, loopback only."""

from __future__ import annotations

import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from infra.clients import kafka_admin
from infra.errors import NotReady, StackError
from infra.home import StackHome
from infra.ports import LOOPBACK
from infra.servers.java import java_command, write_properties
from infra.servers.server import Server

HEAP_MB = 512
# A row of 20 MB still fits into one message; Kafka's own default is 1 MB.
MESSAGE_MAX_BYTES = 20_971_520
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


def kafka_server(
    home: StackHome,
    port: int,
    controller_port: int,
    *,
    settings: Mapping[str, str] = _NO_SETTINGS,
    heap_mb: int = HEAP_MB,
) -> Server:
    """The broker of this stack.

    Args:
        home: The stack's home.
        port: Where it answers, without TLS and login.
        controller_port: Where it answers itself.
        settings: More of its properties, or others; an answer at `port` is still waited for.
        heap_mb: Its heap.
    """
    config = home.conf / "kafka.properties"
    return Server(
        name="kafka",
        command=java_command(home, "kafka.Kafka", str(config), heap_mb=heap_mb),
        prepare=partial(_prepare, home, port, controller_port, settings),
        probe=lambda: _probe(port),
    )


def _prepare(home: StackHome, port: int, controller_port: int, settings: Mapping[str, str]) -> None:
    data = home.data("kafka")
    config = home.conf / "kafka.properties"
    listener = f"PLAINTEXT://{LOOPBACK}:{port}"
    write_properties(
        config,
        {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{LOOPBACK}:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listener},CONTROLLER://{LOOPBACK}:{controller_port}",
            "advertised.listeners": listener,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(data),
            "message.max.bytes": str(MESSAGE_MAX_BYTES),
            "replica.fetch.max.bytes": str(MESSAGE_MAX_BYTES),
            # Connect makes topics as its connectors ask; a reader's typing error makes none.
            "auto.create.topics.enable": "false",
            # One broker cannot hold three replicas; few partitions start quickly.
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **settings,
        },
    )
    if not (data / "meta.properties").exists():
        _format(home)


def _format(home: StackHome) -> None:
    config = str(home.conf / "kafka.properties")
    command = java_command(
        home, "kafka.tools.StorageTool", "format", "-t", new_cluster_id(), "-c", config, heap_mb=128
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise StackError(
            f"Kafka's data folder {str(home.data('kafka'))!r} could not be formatted: expected "
            f"exit code 0, got {done.returncode}:\n{done.stdout}{done.stderr}"
        )


def new_cluster_id() -> str:
    """A random id as Kafka wants it: 22 characters, the first of which makes it no option."""
    first, *rest = uuid.uuid4().bytes
    # Base64 of a first byte below 128 begins with a letter.
    return urlsafe_b64encode(bytes([first & 0x7F, *rest])).decode().rstrip("=")


def _probe(port: int) -> None:
    brokers = kafka_admin(f"{LOOPBACK}:{port}", timeout_s=2).brokers()
    if not brokers:
        raise NotReady("no broker is registered")
