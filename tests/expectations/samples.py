"""One good row of metrics for each suite, and for each rule what makes the row bad."""

from __future__ import annotations

Values = dict[str, int | None]

GOOD: dict[str, Values] = {
    "bronze": {
        "duplicate_offsets": 0,
        "range_start": 100,
        "first_offset": 100,
        "next_offset": 250,
        "range_end": 250,
        "messages": 148,
        "messages_landed": 148,
        "missing_coordinates": 0,
        "missing_timestamps": 0,
    },
    "schema_changes": {
        "messages_in_other_partitions": 0,
        "malformed_records": 0,
        "unknown_change_types": 0,
        "unknown_key_columns": 0,
        "misplaced_columns": 0,
        "columns_differing_by_case": 0,
        "tables_sharing_a_name": 0,
        "positions_going_back": 0,
        "missing_offsets": 0,
        "changes_of_unknown_tables": 0,
        "changes_during_snapshots": 0,
        "breaking_changes": 0,
        "lossy_columns": 0,
    },
    "silver": {
        "duplicate_keys": 0,
        "null_keys": 0,
        "row_count": 1000,
        "rows_expected": 1000,
        "changed_rows": 12,
        "upserts": 12,
        "placeholder_values": 0,
        "unresolved_placeholders": 0,
        "missing_positions": 0,
        "positions_going_back": 0,
        "rows_outside_cut": 0,
        "nulls_in_required": 0,
    },
}

BAD: dict[str, dict[str, Values]] = {
    "bronze": {
        "no_duplicate_offsets": {"duplicate_offsets": 1},
        "range_start_within_first_offset": {"first_offset": 99},
        "next_offset_within_range_end": {"next_offset": 251},
        "messages_equals_messages_landed": {"messages": 147},
        "no_missing_coordinates": {"missing_coordinates": 1},
        "no_missing_timestamps": {"missing_timestamps": 2},
    },
    "schema_changes": {
        "no_messages_in_other_partitions": {"messages_in_other_partitions": 1},
        "no_malformed_records": {"malformed_records": 1},
        "no_unknown_change_types": {"unknown_change_types": 1},
        "no_unknown_key_columns": {"unknown_key_columns": 1},
        "no_misplaced_columns": {"misplaced_columns": 1},
        "no_columns_differing_by_case": {"columns_differing_by_case": 1},
        "no_tables_sharing_a_name": {"tables_sharing_a_name": 1},
        "no_positions_going_back": {"positions_going_back": 1},
        "no_missing_offsets": {"missing_offsets": 1},
        "no_changes_of_unknown_tables": {"changes_of_unknown_tables": 1},
        "no_changes_during_snapshots": {"changes_during_snapshots": 1},
        "no_breaking_changes": {"breaking_changes": 1},
        "no_lossy_columns": {"lossy_columns": 1},
    },
    "silver": {
        "no_duplicate_keys": {"duplicate_keys": 1},
        "no_null_keys": {"null_keys": 1},
        "row_count_equals_rows_expected": {"row_count": 1001},
        "changed_rows_equals_upserts": {"changed_rows": 11},
        "no_placeholder_values": {"placeholder_values": 1},
        "no_unresolved_placeholders": {"unresolved_placeholders": 1},
        "no_missing_positions": {"missing_positions": 1},
        "no_positions_going_back": {"positions_going_back": 1},
        "no_rows_outside_cut": {"rows_outside_cut": 1},
        "no_nulls_in_required": {"nulls_in_required": 1},
    },
}
