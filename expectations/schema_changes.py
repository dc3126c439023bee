"""Suite `schema_changes`: the schema change topic can be trusted to say what changed."""

from __future__ import annotations

from expectations.suite import Severity, Suite, none_of

# Debezium's types of table changes; TiCDC adds the last two.
# https://debezium.io/documentation/reference/stable/connectors/mysql.html ("Schema change topic")
TABLE_CHANGE_TYPES = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"})

SUITE = Suite(
    name="schema_changes",
    subject="schema change topic",
    description="Schema change events are complete, in order and of known kinds.",
    rules=(
        none_of(
            "messages_in_other_partitions",
            "The schema change topic has one partition, so that its events are in order.",
        ),
        none_of(
            "malformed_records",
            "Every schema change event is a JSON object with source, ddl and tableChanges.",
        ),
        none_of(
            "unknown_change_types",
            f"Every table change is one of {', '.join(sorted(TABLE_CHANGE_TYPES))}.",
        ),
        none_of(
            "unknown_key_columns",
            "Every column of a table's primary key is one of the table's columns.",
        ),
        none_of(
            "positions_going_back",
            "Source positions never fall from one schema change event to the next.",
            severity=Severity.WARNING,
        ),
    ),
)
