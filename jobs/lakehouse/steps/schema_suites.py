"""The suites of step `check`: the schema change topic, and the schema history where one is named.

In: what landed and what is recorded of schemas. Out: findings. The whole history is read again when
something of it has landed, which is when a schema changes or the connector takes a snapshot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from expectations import SUITES
from lakehouse.config import TopicRole
from lakehouse.plan.offsets import LandedOffsets
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.history_records import HistoryMessage
from lakehouse.quality.judgement import Finding, Measurement, judge
from lakehouse.quality.schema_history import Beside, measure_history
from lakehouse.quality.schema_metrics import Known, measure_events
from lakehouse.quality.version_rows import LandedSchemas
from lakehouse.spark.bronze import Bronze
from lakehouse.spark.schema_history import read_history
from lakehouse.steps.context import StepContext


def judge_schemas(
    context: StepContext, landed: LandedSchemas, new: Sequence[SchemaVersionRow]
) -> tuple[Finding, ...]:
    """What the suites find.

    Args:
        context: The run.
        landed: What landed since the newest cut.
        new: The schema versions that are new with it.
    """
    source, topics = context.source, sorted({event.message.topic for event in landed.events})
    known = Known(source, landed.recorded, new, landed.groups)
    events = [
        measure_events(topic, [e for e in landed.events if e.message.topic == topic], known)
        for topic in topics
    ]
    judged = (
        judge(SUITES["schema_changes"], events),
        judge(SUITES["schema_history"], _history(context, landed, new)),
    )
    return tuple(finding for judgement in judged for finding in judgement.findings)


def _history(
    context: StepContext, landed: LandedSchemas, new: Sequence[SchemaVersionRow]
) -> tuple[Measurement, ...]:
    source, topic = context.source, context.source.kafka.schema_history
    if topic is None or not any(g.role == TopicRole.SCHEMA_HISTORY for g in landed.groups):
        return ()
    end: LandedOffsets = Bronze(source.name, context.ledger).landed(context.spark)
    rows, is_whole = read_history(context.spark, source, end)
    beside = Beside(
        source, (*landed.recorded, *new), landed.groups, _settings(context), is_whole=is_whole
    )
    messages = [HistoryMessage(**row.asDict()) for row in rows]
    return (measure_history(topic, messages, beside),)


def _settings(context: StepContext) -> Mapping[str, str]:
    """The topic's configuration as landing saw it; empty where it landed from an archive."""
    row = context.ledger.newest_run(context.source.name, "land", context.run_id)
    settings: Mapping[str, str] = json.loads(row.detail).get("schema_history", {}) if row else {}
    return settings
