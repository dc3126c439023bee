"""Suite `schema_history`: a connector that starts again finds every version of its tables."""

from __future__ import annotations

from expectations.suite import Severity, Suite, none_of

SUITE = Suite(
    name="schema_history",
    subject="schema history topic",
    description="The connector's own record of schemas is whole and says what its events say.",
    rules=(
        none_of(
            "messages_in_other_partitions",
            "The schema history topic has one partition, so that its records are in order.",
        ),
        none_of(
            "malformed_records",
            "Every record is a JSON document with source and position.",
        ),
        none_of(
            "keyed_records",
            "No record has a key: compaction would keep one record of each key.",
            severity=Severity.WARNING,
        ),
        none_of(
            "positions_going_back",
            "Source positions never fall from one record to the next.",
            severity=Severity.WARNING,
        ),
        none_of(
            "compaction",
            "Kafka does not compact the topic (cleanup.policy is delete).",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "retention_limits",
            "Kafka keeps the topic for ever (retention.ms and retention.bytes are -1).",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "versions_missing_in_history",
            "The history has every version of a table that the schema change topic has.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "versions_missing_in_topic",
            "The schema change topic has every version of a table that the history has.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "tables_unlike_topic",
            "Each table ends in the same columns in the history and in the schema change topic.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "tables_without_history",
            "The history knows every table that sends change events.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "tables_unlike_events",
            "The columns of each table's change events are columns of one version in the history.",
            severity=Severity.WARNING,
        ),
    ),
)
