"""Debezium's envelope: the names that the connectors fix.

Source: https://debezium.io/documentation/reference/stable/connectors/postgresql.html ("Change
event values"); "Transaction metadata" for BEGIN and END.
"""

from __future__ import annotations

CREATE, UPDATE, DELETE, READ, TRUNCATE, MESSAGE = "c", "u", "d", "r", "t", "m"
ROW_OPERATIONS = (CREATE, UPDATE, DELETE, READ)
OPERATIONS = (*ROW_OPERATIONS, TRUNCATE, MESSAGE)

# `source.snapshot` of an incremental snapshot's read events.
INCREMENTAL = "incremental"

# Default of the connectors' option `unavailable.value.placeholder`, as text and as bytes.
PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDER_BASE64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="

BEGIN, END = "BEGIN", "END"

# Headers of the delete and of the create event that an update of a key becomes.
NEW_KEY, OLD_KEY = "__debezium.newkey", "__debezium.oldkey"
