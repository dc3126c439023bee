"""Up to 20 rows of each expectation that fails: one more query, and only after a failure.

In: findings, the staged tables, what landed. Out: event keys as silver has them and the places of
their messages, by subject and expectation. What the driver gets is bounded by the number of keys
for an expectation and of expectations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from expectations.schema_changes import TABLE_CHANGE_TYPES
from lakehouse.quality.judgement import Finding
from lakehouse.quality.measuring.failing_rows import MAX_KEYS, FailingRows, failing_messages
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metrics import Scope, session_for, silver_rows
from lakehouse.quality.measuring.reference_rows import reference_rows
from lakehouse.quality.measuring.staged import Target
from lakehouse.quality.schemas.ddl import SchemaEvent
from lakehouse.spark.sql import literal

# Expectations and subjects that keys are looked for; of more the first ones say what is wrong.
_MOST_FAILURES = 40
_LOG = structlog.get_logger()
# Subject and rule.
Failure = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A row for which an expectation fails: its event key, and where its messages stand."""

    key: str
    messages: tuple[tuple[str, int, int], ...]


Samples = Mapping[Failure, tuple[FailingRow, ...]]


def find_samples(
    spark: SparkSession,
    source: str,
    targets: Sequence[Target],
    landed: LandedRanges,
    findings: Iterable[Finding],
    scope: Scope,
) -> Samples:
    """The rows for which expectations fail; none where Spark cannot tell.

    Args:
        spark: Its catalog and configuration are used, in a session of its own.
        source: The source's name.
        targets: The staged tables.
        landed: What the run landed.
        findings: What its validation found.
        scope: Which rows were judged.
    """
    bad = [finding for finding in findings if not finding.success and not finding.problem]
    if not bad:
        return {}
    session = session_for(spark, targets, landed)
    try:
        statements = _statements(session, source, targets, landed, bad[:_MOST_FAILURES], scope)
        return _rows(session, statements) if statements else {}
    except (PySparkException, Py4JJavaError) as failure:
        # The verdict stands without them.
        _LOG.warning("failing rows not found", source=source, reason=type(failure).__name__)
        return {}


def schema_change_samples(events: Sequence[SchemaEvent]) -> Samples:
    """The messages for which expectations of the suite `schema_changes` fail."""
    tests: Mapping[str, Callable[[SchemaEvent], bool]] = {
        "no_messages_in_other_partitions": lambda event: event.message.partition != 0,
        "no_malformed_records": lambda event: bool(event.problem),
        "no_unknown_change_types": lambda event: any(
            change.kind not in TABLE_CHANGE_TYPES for change in event.changes
        ),
        "no_unknown_key_columns": lambda event: any(c.unknown_keys for c in event.changes),
    }
    found: dict[Failure, tuple[FailingRow, ...]] = {}
    for event in events:
        at = (event.message.topic, event.message.partition, event.message.offset)
        for rule, is_bad in tests.items():
            failure = (event.message.topic, rule)
            if is_bad(event) and len(found.get(failure, ())) < MAX_KEYS:
                found[failure] = (*found.get(failure, ()), FailingRow("", (at,)))
    return found


def samples_json(rows: Iterable[FailingRow]) -> str:
    """Rows as `quality.results.samples` holds them; empty for none."""
    found = [{"key": row.key, "messages": row.messages} for row in rows]
    return json.dumps(found) if found else ""


def _statements(
    session: SparkSession,
    source: str,
    targets: Sequence[Target],
    landed: LandedRanges,
    bad: Sequence[Finding],
    scope: Scope,
) -> dict[Failure, str]:
    subjects = {finding.subject for finding in bad}
    tables = {
        target.silver: FailingRows(rows, reference_rows(session, [rows]))
        for target in targets
        if target.silver in subjects
        for rows in [silver_rows(session, target, scope)]
    }
    ranges = {f"{each.topic}/{each.partition}": each for each in landed.ranges}
    found: dict[Failure, str] = {}
    for finding in bad:
        metric, text = finding.rule.columns[0], None
        if finding.subject in tables:
            text = tables[finding.subject].of(metric)
        elif finding.subject in ranges:
            text = failing_messages(source, landed, ranges[finding.subject], metric)
        if text:
            found[(finding.subject, finding.rule.name)] = text
    return found


def _rows(session: SparkSession, statements: Mapping[Failure, str]) -> Samples:
    parts = (
        f"SELECT {literal(subject)} subject, {literal(rule)} rule, key, messages FROM ({text})"
        for (subject, rule), text in statements.items()
    )
    found: dict[Failure, tuple[FailingRow, ...]] = {}
    for row in session.sql(" UNION ALL ".join(parts)).collect():
        failure = (row["subject"], row["rule"])
        places = ((m["topic"], m["partition"], m["offset"]) for m in row["messages"])
        messages = tuple(place for place in places if None not in place)
        found[failure] = (*found.get(failure, ()), FailingRow(row["key"], messages))
    return found
