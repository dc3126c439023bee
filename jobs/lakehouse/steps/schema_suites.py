"""The suites of step `check`: the schema change topic, and the schema history where one is named.

In: what landed and what is recorded of schemas. Out: findings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from expectations import SUITES
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.judgement import Finding, Measurement, judge
from lakehouse.quality.schemas.schema_history import Beside, measure_history
from lakehouse.quality.schemas.schema_metrics import Known, measure_events
from lakehouse.quality.schemas.version_rows import LandedSchemas
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
    if landed.history is None:
        return ()
    rows = (*landed.recorded, *new)
    beside = Beside(context.source, rows, landed.groups, _settings(context))
    return (measure_history(landed.history, beside),)


def _settings(context: StepContext) -> Mapping[str, str]:
    """The topic's configuration as landing saw it; empty where it landed from an archive."""
    row = context.ledger.newest_run(context.source.name, "land", context.run_id)
    settings: Mapping[str, str] = json.loads(row.detail).get("schema_history", {}) if row else {}
    return settings
