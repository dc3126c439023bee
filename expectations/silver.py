"""Suite `silver`: the staged rows of a table are the fold of its change events."""

from __future__ import annotations

from expectations.suite import Severity, Suite, equal, none_of

SUITE = Suite(
    name="silver",
    subject="silver table",
    description="The staged rows are what the change events of the cut make of the table.",
    rules=(
        none_of("duplicate_keys", "Each event key has one row.", optional=True),
        none_of("null_keys", "No row lacks a part of its event key.", optional=True),
        equal(
            "row_count",
            "rows_expected",
            "The table has as many live rows as the cut before it, plus creates, minus deletes.",
            optional=True,
        ),
        equal(
            "changed_rows",
            "upserts",
            "As many rows were changed as change events of the batch remained after collapsing.",
            optional=True,
        ),
        none_of(
            "placeholder_values",
            "No value is the text that stands for an unchanged large value: "
            "the stored value was kept.",
        ),
        none_of(
            "unresolved_placeholders",
            "Every unchanged large value had a stored value to keep; else it is NULL now.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of("missing_positions", "Every changed row says which source position it comes from."),
        none_of(
            "positions_going_back",
            "No key returned to an older version than the published one.",
            optional=True,
        ),
        none_of(
            "rows_outside_cut",
            "Every row comes from a message that the cut covers, at its highest position at most.",
            optional=True,
        ),
        none_of(
            "nulls_in_required",
            "No changed row has NULL in a column that the source declares NOT NULL.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "values_out_of_range",
            "No changed row has a number that the column's type in the source cannot hold, such as "
            "a negative one in an unsigned column.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "dangling_references",
            "Every changed row refers to rows that are there, where the source declares a foreign "
            "key.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "hours_behind",
            "The newest change was made in the source within the hour before it was landed.",
            severity=Severity.INFO,
            optional=True,
        ),
        none_of(
            "lossy_columns",
            "Every column keeps the source's values exactly; told when a table has a new version.",
            severity=Severity.INFO,
        ),
    ),
)
