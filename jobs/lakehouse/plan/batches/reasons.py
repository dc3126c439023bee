"""What the reason codes of quarantine mean, as a person is told it.

In: a code. Out: a sentence. Which message gets which code is decided where it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "too_large": "the value has more than 16 MB",
    "registry_format": "a schema registry's serializer wrote it: expected Kafka's JsonConverter",
    "not_utf8": "the value is no UTF-8 text",
    "half_surrogate_pair": "a text escapes half of a surrogate pair, for which UTF-8 has no bytes",
    "not_json": "the value is not one JSON document: it is broken, or text stands behind it",
    "no_operation": "no member op, and nothing that connectors write beside change events",
    "unknown_operation": "op is none of c, u, d, r, t and m",
    "no_source_block": "source is no object",
    "foreign_source": "source.name is not the topic_prefix of the TOML file",
    "unknown_connector": "source.connector is not the connector of the TOML file",
    "no_identity": "source names no table",
    "no_position": "what orders the connector's events in source is missing, or no such number",
    "bad_key": "the key is no JSON object, or has a value that its column cannot hold",
    "empty_message": "neither key nor value",
    "wrong_topic": "source names another table than the topic",
    "no_key": "no key, in a table that has one",
    "key_mismatch": "the key has other values than the row",
    "no_image": "op tells of a new row, and after has none",
    "no_before_image": "the table has no key, so that before must have the row",
    "unknown_column": "the row has a column that the message's schema does not have",
    "held_key": "its key waits for an older bad event, and this one leaves a value out",
}
"""Code → what it means."""
