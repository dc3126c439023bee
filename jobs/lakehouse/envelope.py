"""Debezium's envelope: the names that the connectors fix.

Source: https://debezium.io/documentation/reference/stable/connectors/postgresql.html ("Change
event values"); "Transaction metadata" for BEGIN and END.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import md5
from uuid import UUID

CREATE, UPDATE, DELETE, READ, TRUNCATE, MESSAGE = "c", "u", "d", "r", "t", "m"
ROW_OPERATIONS = (CREATE, UPDATE, DELETE, READ)
OPERATIONS = (*ROW_OPERATIONS, TRUNCATE, MESSAGE)
# Ours: what `lakehouse erase` leaves of a message, its place in the log without its rows.
ERASED = "lakehouse_erased"

# `source.snapshot` of an incremental snapshot's read events.
INCREMENTAL = "incremental"

# Default of the connectors' option `unavailable.value.placeholder`, and what stands for it in
# columns of other types: `UnchangedToastedPlaceholder` of Debezium's connector for PostgreSQL, and
# `OracleValueConverters.convertBinary`, whose bytes go through `binary.handling.mode`.
PLACEHOLDER = "__debezium_unavailable_value"
PLACEHOLDER_BYTES = PLACEHOLDER.encode()
_MD5 = md5(PLACEHOLDER_BYTES, usedforsecurity=False)
PLACEHOLDER_UUID = str(UUID(bytes=_MD5.digest(), version=3))
PLACEHOLDER_HEX = PLACEHOLDER_BYTES.hex()
PLACEHOLDER_MAP = f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'
_BASE64 = b64encode(PLACEHOLDER_BYTES).decode()
_NUMBERS = ",".join(map(str, PLACEHOLDER_BYTES))
# A message with a placeholder has one of these somewhere.
PLACEHOLDER_MARKS = (PLACEHOLDER, _BASE64, PLACEHOLDER_HEX, _NUMBERS, PLACEHOLDER_UUID)
# As JSON: text and bytes, the element of an array, an array of numbers, a map.
PLACEHOLDERS = (
    PLACEHOLDER,
    _BASE64,
    PLACEHOLDER_HEX,
    *(f'["{element}"]' for element in (PLACEHOLDER, _BASE64, PLACEHOLDER_UUID)),
    f"[{_NUMBERS}]",
    PLACEHOLDER_MAP,
)

BEGIN, END = "BEGIN", "END"

# Headers of the delete and of the create event that an update of a key becomes.
NEW_KEY, OLD_KEY = "__debezium.newkey", "__debezium.oldkey"
