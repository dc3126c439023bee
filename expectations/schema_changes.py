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
            "misplaced_columns",
            "The columns of a table are numbered 1, 2, 3 … in the order in which they are listed.",
            severity=Severity.WARNING,
        ),
        none_of(
            "columns_differing_by_case",
            "No two columns of a table differ by upper and lower case only: silver holds a table "
            "with such columns.",
            severity=Severity.WARNING,
        ),
        none_of(
            "tables_sharing_a_name",
            "No two tables would get the same name in silver; those that do get a hash appended.",
            severity=Severity.WARNING,
        ),
        none_of(
            "positions_going_back",
            "Source positions never fall from one schema change event to the next.",
            severity=Severity.WARNING,
        ),
        none_of(
            "missing_offsets",
            "Offsets follow each other; one at a time may be missing, where a transaction of the "
            "connector ended.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "changes_of_unknown_tables",
            "Of every table that is altered, an earlier event said how it was.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "changes_during_snapshots",
            "No table changed while an incremental snapshot read it: rows that it read before and "
            "after have different columns.",
            severity=Severity.WARNING,
        ),
        none_of(
            "breaking_changes",
            "No change takes something away or narrows it: a table, a column, a type, NULL, the "
            "key.",
            severity=Severity.INFO,
        ),
        none_of(
            "lossy_columns",
            "Every column of the tables that changed keeps its values exactly on their way here.",
            severity=Severity.INFO,
        ),
    ),
)
