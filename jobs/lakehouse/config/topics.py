"""Which topics are a source's, and what each one holds: the same for Kafka and for archives."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from lakehouse.config.source import SourceConfig
from lakehouse.errors import ConfigError
from lakehouse.names import TableIdentity, format_table, parse_table

_ESCAPED = re.compile(r"\\(\W)")
# A pattern without one of these means one text alone; a dot is taken for a dot.
_META = re.compile(r"[][*+?^$(){}|\\]")


class TopicRole(StrEnum):
    """What the messages of a topic are."""

    DATA = "data"
    SCHEMA_CHANGE = "schema_change"
    TRANSACTION = "transaction"
    HEARTBEAT = "heartbeat"
    SCHEMA_HISTORY = "schema_history"
    NOTIFICATION = "notification"
    SIGNAL = "signal"


@dataclass(frozen=True, slots=True)
class TopicSelection:
    """Topics of a cluster or an archive, split by whether the source lands them.

    Attributes:
        selected: Topic and role, the transaction topic first: its end offset is read
            before those of the data that it counts.
        ignored: The others, sorted.
    """

    selected: tuple[tuple[str, TopicRole], ...]
    ignored: tuple[str, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """The selected topics' names."""
        return tuple(topic for topic, _ in self.selected)


def topic_role(source: SourceConfig, topic: str) -> TopicRole | None:
    """What a topic holds, or None when the source does not land it.

    A topic that the file names as a control topic is one, also when `topics` matches it.
    """
    control = control_topics(source)
    if topic in control:
        return control[topic]
    if topic in source.kafka.topic_tables:
        return TopicRole.DATA
    if any(_belongs_to(topic, prefix) for prefix in source.longer_prefixes):
        return None
    if any(re.fullmatch(pattern, topic) for pattern in source.kafka.topics):
        return TopicRole.DATA
    return None


def control_topics(source: SourceConfig) -> dict[str, TopicRole]:
    """The topics that hold no change events, by name."""
    kafka = source.kafka
    named = (
        (kafka.heartbeat, TopicRole.HEARTBEAT),
        (kafka.transactions, TopicRole.TRANSACTION),
        (kafka.schema_changes, TopicRole.SCHEMA_CHANGE),
        (kafka.schema_history, TopicRole.SCHEMA_HISTORY),
        (kafka.notifications, TopicRole.NOTIFICATION),
        (kafka.signals, TopicRole.SIGNAL),
    )
    return {topic: role for topic, role in named if topic is not None}


def select_topics(source: SourceConfig, topics: Iterable[str]) -> TopicSelection:
    """Split the topics of a cluster or an archive."""
    roles = [(topic, topic_role(source, topic)) for topic in sorted(set(topics))]
    selected = [(topic, role) for topic, role in roles if role is not None]
    selected.sort(key=lambda pair: pair[1] is not TopicRole.TRANSACTION)
    return TopicSelection(tuple(selected), tuple(topic for topic, role in roles if role is None))


def mapped_table(source: SourceConfig, topic: str) -> TableIdentity | None:
    """The one table that the file maps a topic to; None where it maps it to none or to several."""
    patterns = source.kafka.topic_tables.get(topic, ())
    if len(patterns) != 1 or _META.search(_ESCAPED.sub("", patterns[0])):
        return None
    try:
        return parse_table(_ESCAPED.sub(r"\1", patterns[0]), source.connector)
    except ConfigError:
        return None


def is_mapped(source: SourceConfig, topic: str, table: TableIdentity) -> bool:
    """Whether the file maps a topic to a table, alone or among others."""
    name = format_table(table, source.connector)
    return any(re.fullmatch(pattern, name) for pattern in source.kafka.topic_tables.get(topic, ()))


def required_topics(source: SourceConfig) -> tuple[str, ...]:
    """Topics that the file names one by one, so that their absence is a mistake.

    The notification and the signal topic come into being with their first message, and not
    every connector has a schema change, transaction or heartbeat topic.
    """
    literal = [name for pattern in source.kafka.topics if (name := _literal(pattern)) is not None]
    routed = list(source.kafka.topic_tables)
    history = [source.kafka.schema_history] if source.kafka.schema_history else []
    return tuple(dict.fromkeys(literal + routed + history))


def _literal(pattern: str) -> str | None:
    """The one topic that the pattern means, or None when it can match several."""
    name = pattern.replace("\\.", ".").replace("\\-", "-")
    return name if re.fullmatch(r"[A-Za-z0-9._-]+", name) else None


def _belongs_to(topic: str, prefix: str) -> bool:
    return topic == prefix or topic.startswith(f"{prefix}.")
