"""What the logins of the stack's broker may do: the lakehouse, and Kafka Connect.

Who has no grant for a topic does not see it. `docs/grants.md` says the same for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from infra.registrations import history_topic, notification_topic
from lakehouse.config import SourceConfig

# The group of the workers, and what their own topics begin with.
CONNECT_GROUP, CONNECT_TOPICS = "lakehouse-connect", "connect-"
_DEADLINE_S = 30
_READS = ("READ", "DESCRIBE_CONFIGS")
# Connect looks whether a topic is there, makes it, and writes to it.
_MAKES = ("CREATE", "WRITE", "DESCRIBE_CONFIGS")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a login may do with a topic or a group, or with all whose names begin so."""

    name: str
    operations: tuple[str, ...]
    prefixed: bool = False
    kind: ResourceType = ResourceType.TOPIC


def lakehouse_grants(source: SourceConfig) -> Iterator[Grant]:
    """What the lakehouse needs of a source's topics, which begin with its prefix."""
    kafka = source.kafka
    yield Grant(f"{source.topic_prefix}.", _READS, prefixed=True)
    for topic in (
        kafka.schema_changes,
        kafka.transactions,
        kafka.heartbeat,
        kafka.schema_history,
        kafka.notifications,
    ):
        if topic is not None:
            yield Grant(topic, _READS)
    if kafka.signals is not None:
        yield Grant(kafka.signals, (*_READS, "WRITE"))


def worker_grants() -> Iterator[Grant]:
    """What Kafka Connect needs whatever its connectors are."""
    yield Grant(CONNECT_TOPICS, ("READ", *_MAKES), prefixed=True)
    yield Grant(CONNECT_GROUP, ("READ",), kind=ResourceType.GROUP)


def connector_grants(source: SourceConfig) -> Iterator[Grant]:
    """What a source's connector needs: it writes all topics but that of signals."""
    kafka, prefix = source.kafka, source.topic_prefix
    yield Grant(f"{prefix}.", _MAKES, prefixed=True)
    heartbeat = kafka.heartbeat or f"__debezium-heartbeat.{prefix}"
    # MySQL's and MariaDB's schema changes stand in a topic that is called as the prefix.
    for topic in (prefix, heartbeat, notification_topic(source)):
        yield Grant(topic, _MAKES)
    # A connector reads its history at each start, as a member of a group.
    yield Grant(history_topic(source), ("READ", *_MAKES))
    yield Grant(f"{prefix}-schemahistory", ("READ",), kind=ResourceType.GROUP)
    if kafka.signals is not None:
        yield Grant(kafka.signals, ("READ",))
        yield Grant(kafka.signals, ("READ",), kind=ResourceType.GROUP)


def allow(admin: AdminClient, user: str, *grants: Grant) -> None:
    """Let a login do what it is granted; what it has already stays."""
    bindings = [
        AclBinding(
            grant.kind,
            grant.name,
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
