"""What statements did to the source's tables, as far as its topics tell.

In: the envelopes of a batch, what is recorded. Out: the events of the schema change topic, or of
the schema history where the source sends no schema change topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from lakehouse.config import TopicRole
from lakehouse.connectors import CONNECTORS, Connector
from lakehouse.errors import StepFailed
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.epochs import Epoch
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.quality.schemas import ddl
from lakehouse.quality.schemas.captured import captured_tables, is_new_table, of_captured
from lakehouse.quality.schemas.history_records import History, HistoryMessage, parse_history
from lakehouse.spark.parsing.schema_history import has_messages, read_history
from lakehouse.steps.context import StepContext

MAX_SCHEMA_MESSAGES = 100_000


@dataclass(frozen=True, slots=True)
class Landed:
    """What is known beside the messages themselves.

    Attributes:
        groups: The profile of the batch.
        recorded: What `quality.schema_versions` has, oldest first.
        end: How far each topic is landed.
        epochs: The logs that the source has had.
    """

    groups: Sequence[Group]
    recorded: Sequence[SchemaVersionRow]
    end: LandedOffsets
    epochs: Sequence[Epoch]


@dataclass(frozen=True, slots=True)
class Statements:
    """What the topics tell of statements.

    Attributes:
        sent: The events of the schema change topic in the batch, in order.
        history: The whole schema history, where something of it is asked for.
        told: The events that make versions: those sent, or those of the history.
    """

    sent: tuple[ddl.SchemaEvent, ...] = ()
    history: History | None = None
    told: tuple[ddl.SchemaEvent, ...] = ()


def read_statements(context: StepContext, envelopes: DataFrame, landed: Landed) -> Statements:
    """Read what statements did.

    Raises:
        StepFailed: The schema change topic is larger than any that a source has.
    """
    connector = CONNECTORS[context.source.connector]
    sent = _sent(envelopes, connector) if _has_events(landed.groups, connector) else ()
    is_teller = not sent and _is_told_by_history(context, connector, landed)
    history = _history(context, landed, is_teller=is_teller)
    if history is None or not is_teller:
        return Statements(sent, history, sent)
    captured = captured_tables(context.source, landed.groups, landed.recorded)
    told = of_captured(ddl.without_copies(history.events), captured, connector.name)
    return Statements(sent, history, told)


def _is_told_by_history(context: StepContext, connector: Connector, landed: Landed) -> bool:
    """Whether nothing ever came of a schema change topic."""
    kafka = context.source.kafka
    if kafka.schema_history is None or connector.schema_changes_in_data:
        return False
    if any(row.is_from_ddl and row.topic == kafka.schema_changes for row in landed.recorded):
        return False
    return not has_messages(context.spark, context.source, kafka.schema_changes, landed.end)


def _history(context: StepContext, landed: Landed, *, is_teller: bool) -> History | None:
    """All of the history when something of it has landed, or a table that it may know is new."""
    source, topic = context.source, context.source.kafka.schema_history
    if topic is None or topic not in landed.end.topics:
        return None
    has_landed = any(group.role == TopicRole.SCHEMA_HISTORY for group in landed.groups)
    if not has_landed and not (is_teller and is_new_table(source, landed.groups, landed.recorded)):
        return None
    rows, is_whole = read_history(context.spark, source, landed.end, landed.epochs)
    messages = [HistoryMessage(**row.asDict()) for row in rows]
    return parse_history(topic, messages, source.connector, is_whole=is_whole)


def _has_events(groups: Iterable[Group], connector: Connector) -> bool:
    if connector.schema_changes_in_data:
        return any(group.is_schema_change for group in groups)
    return any(group.role == TopicRole.SCHEMA_CHANGE for group in groups)


def _sent(envelopes: DataFrame, connector: Connector) -> tuple[ddl.SchemaEvent, ...]:
    rows = (
        envelopes.where(_is_schema_change(connector))
        .select(
            "topic",
            "partition",
            "offset",
            "position",
            F.to_json("payload").alias("document"),
            (F.col("snapshot") != "false").alias("is_snapshot"),
        )
        .limit(MAX_SCHEMA_MESSAGES + 1)
        .collect()
    )
    if len(rows) > MAX_SCHEMA_MESSAGES:
        raise StepFailed(
            f"The batch has more than {MAX_SCHEMA_MESSAGES} schema change events: expected a few "
            "for each table; check that [kafka] schema_changes names the right topic"
        )
    messages = [ddl.SchemaMessage(**row.asDict()) for row in rows]
    messages.sort(key=lambda message: (message.topic, message.partition, message.offset))
    return ddl.without_copies([ddl.parse_event(m, connector.name) for m in messages])


def _is_schema_change(connector: Connector) -> Column:
    own_topic = F.col("role") == str(TopicRole.SCHEMA_CHANGE)
    between = F.col("is_schema_change") if connector.schema_changes_in_data else F.lit(False)
    return (own_topic | between) & ~F.col("value_null")
