"""Logins of a broker beside its open listener, and what they may do with topics.

The stack's own parts (Connect, its administration) come without a login, at a port of this machine;
the lakehouse has a login with the rights of `docs/grants.md` and no more, so that each of its
commands and Dags is tried with these alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from infra.home import StackHome
from infra.ports import LOOPBACK
from lakehouse.config import SourceConfig

SCRAM = "SCRAM-SHA-512"
LAKEHOUSE = "lakehouse"
LISTENER = "LOGINS"
_ITERATIONS, _DEADLINE_S = 4096, 30


@dataclass(frozen=True, slots=True)
class Grant:
    """What a login may do with a topic, or with all whose names begin so."""

    topic: str
    operations: tuple[str, ...]
    prefixed: bool = False


def login_listener(
    name: str, protocol: str, *, plain: int | str, port: int | str, controller: int | str
) -> dict[str, str]:
    """A broker's properties for a listener that asks for a login and grants nothing by itself.

    Args:
        name: The listener's, in capitals.
        protocol: SASL_PLAINTEXT or SASL_SSL.
        plain: The port of the listener without logins; who comes there may do everything.
        port: The listener's own.
        controller: That of the controller.
    """
    open_to_clients = f"PLAINTEXT://{LOOPBACK}:{plain},{name}://{LOOPBACK}:{port}"
    protocols = {"PLAINTEXT": "PLAINTEXT", "CONTROLLER": "PLAINTEXT", name: protocol}
    prefix = f"listener.name.{name.lower()}"
    return {
        "listeners": f"{open_to_clients},CONTROLLER://{LOOPBACK}:{controller}",
        "advertised.listeners": open_to_clients,
        "listener.security.protocol.map": ",".join(f"{n}:{p}" for n, p in protocols.items()),
        f"{prefix}.sasl.enabled.mechanisms": SCRAM,
        f"{prefix}.{SCRAM.lower()}.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


def lakehouse_properties(home: StackHome, ports: Mapping[str, int]) -> dict[str, str]:
    """How the lakehouse reaches the stack's broker, as librdkafka's properties."""
    return {
        "bootstrap.servers": f"{LOOPBACK}:{ports['kafka:logins']}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": SCRAM,
        "sasl.username": LAKEHOUSE,
        "sasl.password": home.passwords()["kafka"],
    }


def source_grants(source: SourceConfig) -> Iterator[Grant]:
    """What the lakehouse needs of a source's topics, which begin with its prefix."""
    kafka, reads = source.kafka, ("READ", "DESCRIBE_CONFIGS")
    yield Grant(f"{source.topic_prefix}.", reads, prefixed=True)
    for topic in (
        kafka.schema_changes,
        kafka.transactions,
        kafka.heartbeat,
        kafka.schema_history,
        kafka.notifications,
    ):
        if topic is not None:
            yield Grant(topic, reads)
    if kafka.signals is not None:
        yield Grant(kafka.signals, (*reads, "WRITE"))


def admit(admin: AdminClient, user: str, password: str) -> None:
    """Make a login, or give it another password."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS)
    change = UserScramCredentialUpsertion(user, info, password.encode())
    for answer in admin.alter_user_scram_credentials([change]).values():
        answer.result(_DEADLINE_S)


def allow(admin: AdminClient, user: str, *grants: Grant) -> None:
    """Let a login do what it is granted; what it has already stays."""
    bindings = [
        AclBinding(
            ResourceType.TOPIC,
            grant.topic,
            ResourcePatternType.PREFIXED if grant.prefixed else ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        for grant in grants
        for operation in grant.operations
    ]
    for answer in admin.create_acls(bindings).values():
        answer.result(_DEADLINE_S)
