"""Kafka Connect in distributed mode, with the Debezium connectors; loopback only."""

from __future__ import annotations

from collections.abc import Mapping

from infra.connect_api import ConnectApi
from infra.errors import NotReady
from infra.home import StackHome
from infra.kafka_grants import CONNECT_GROUP, CONNECT_TOPICS
from infra.ports import LOOPBACK
from infra.registrations import CONNECTOR_CLASSES
from infra.servers.java import java_command, write_properties
from infra.servers.kafka import MESSAGE_MAX_BYTES
from infra.servers.server import Server
from infra.setup import layout

HEAP_MB = 1024


def connect_server(home: StackHome, port: int, kafka: Mapping[str, str]) -> Server:
    """The Connect worker of this stack; the broker has to run.

    Args:
        home: The stack's home.
        port: Where it answers.
        kafka: How it reaches the broker, as properties of Java's clients.
    """
    config = home.conf / "connect.properties"
    main_class = "org.apache.kafka.connect.cli.ConnectDistributed"
    return Server(
        name="connect",
        command=java_command(home, main_class, str(config), heap_mb=HEAP_MB),
        prepare=lambda: write_properties(config, _settings(home, port, kafka)),
        probe=lambda: _probe(port),
    )


def _settings(home: StackHome, port: int, kafka: Mapping[str, str]) -> dict[str, str]:
    internal = {
        f"{kind}.storage.{setting}": value
        for kind in ("config", "offset", "status")
        for setting, value in (
            ("topic", f"{CONNECT_TOPICS}{kind}"),
            ("replication.factor", "1"),
            # One partition each starts quickly; the config topic always has one.
            *((("partitions", "1"),) if kind != "config" else ()),
        )
    }
    return internal | {
        **kafka,
        # The worker's own clients, and those of its connectors.
        **{
            f"{client}.{name}": text
            for client in ("producer", "admin")
            for name, text in kafka.items()
        },
        "group.id": CONNECT_GROUP,
        "listeners": f"http://{LOOPBACK}:{port}",
        "rest.advertised.host.name": LOOPBACK,
        "plugin.path": str(layout.plugin_path()),
        "plugin.discovery": "service_load",
        # The worker needs some converter; each connector brings its own.
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "topic.creation.enable": "true",
        # A connector that is killed repeats at most two seconds.
        "offset.flush.interval.ms": "2000",
        "scheduled.rebalance.max.delay.ms": "0",
        # The only worker has nobody to hand its tasks to: on a busy machine it may be silent for
        # longer than the default of ten seconds. Tasks that restart repeat their snapshot.
        "session.timeout.ms": "60000",
        "producer.max.request.size": str(MESSAGE_MAX_BYTES),
        # Passwords are read from a file by the worker: neither the REST interface nor the
        # config topic ever holds one.
        "config.providers": "file",
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "config.providers.file.param.allowed.paths": str(home.secrets),
    }


def _probe(port: int) -> None:
    api = ConnectApi(f"http://{LOOPBACK}:{port}")
    missing = set(CONNECTOR_CLASSES.values()) - api.plugins()
    if missing:
        raise NotReady(f"connector plugins {sorted(missing)} are not loaded")
    # Only a worker that has joined its group answers this.
    api.connectors()
