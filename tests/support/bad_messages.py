"""Bad messages of a PostgreSQL source: framing, envelope, source block, key, row image, schema."""

from __future__ import annotations

import gzip

from tests.support.bad_input import (
    GONE,
    ID,
    ROW,
    Case,
    Event,
    Pair,
    after,
    change,
    fields,
    key,
    optional,
    payload,
    schema,
    source,
    text,
    token,
)

_ALL = (1, 2, 3)
_ROW = {"id": 2, "v": "two"}
_TWICE = '"op":"c","op":"d"'
_INT = optional("v", "int32")
_LONG = optional("v", "int64")
_NOTIFICATION = (
    '{"id":"n1","aggregate_type":"Initial Snapshot","type":"STARTED",'
    '"additional_data":{"connector_name":"app"},"timestamp":1790000000000}'
)
_PLACEHOLDER = "__debezium_unavailable_value"


def older(event: Event) -> list[Pair]:
    """An update of row 1 that came before its create."""
    event.key = {"id": 1}
    event.payload["source"]["sequence"] = '["900","1"]'
    return change("u", None, {"id": 1, "v": "old"})(event)


def nested(depth: int) -> ROW:
    """A column of arrays of arrays of …: the parser of JSON takes 1,000 levels."""
    found: ROW = {"type": "int32", "optional": True}
    for _ in range(depth):
        found = {"type": "array", "items": found, "optional": True}
    return {**found, "field": "v"}


FRAMING = {
    "truncated": Case(text(lambda value: value[:-5]), "not_json"),
    "two_documents": Case(text(lambda value: value + value), "not_json"),
    "word_behind": Case(text(lambda value: value + " x"), "not_json"),
    "brace_behind": Case(text(lambda value: value + "}"), "not_json"),
    "empty_value": Case(text(lambda _: ""), "not_json"),
    "blank_value": Case(text(lambda _: " \n"), "not_json"),
    "array_document": Case(text(lambda value: f"[{value}]"), "no_operation"),
    "text_document": Case(text(lambda _: '"x"'), "no_operation"),
    "number_document": Case(text(lambda _: "1"), "no_operation"),
    "null_document": Case(text(lambda _: "null"), "no_operation"),
    "empty_object": Case(text(lambda _: "{}"), "no_operation"),
    "member_twice": Case(text(lambda value: value.replace('"op":"c"', _TWICE)), "not_json"),
    "column_twice": Case(text(lambda value: value.replace('"v":null', '"v":1,"v":2')), "not_json"),
    "nan": Case(token("NaN"), "not_json"),
    "minus_infinity": Case(token("-Infinity"), "not_json"),
    "too_deep": Case(token("[" * 1001 + "]" * 1001), "not_json"),
    "not_utf8": Case(text(lambda value: value.encode().replace(b'"c"', b'"\xff"')), "not_utf8"),
    "utf16": Case(text(lambda value: value.encode("utf-16")), "not_utf8"),
    "byte_order_mark": Case(text(lambda value: "\ufeff" + value), "not_json"),
    "gzip": Case(text(lambda value: gzip.compress(value.encode())), "not_utf8"),
    "registry": Case(text(lambda _: b"\x00\x00\x00\x00\x07Avro"), "registry_format"),
    "half_pair": Case(token('"\\ud83d"'), "half_surrogate_pair"),
    "second_half": Case(token('"\\ude00 \\ud83d\\ude00"'), "half_surrogate_pair"),
    "escaped_half": Case(token('"\\\\ud83d"'), rows=_ALL, stored="\\ud83d"),
    "too_large": Case(token('"' + "x" * 16_000_001 + '"'), "too_large"),
    "ten_megabytes": Case(token('"' + "x" * 10_000_000 + '"'), rows=_ALL, stored="x" * 10_000_000),
    "empty_message": Case(lambda _: [(None, None)], "empty_message"),
    "tombstone": Case(lambda event: [(event.key_bytes, None)]),
}

ENVELOPE = {
    "no_op": Case(payload(op=GONE), "no_operation"),
    "op_null": Case(payload(op=None), "no_operation"),
    "op_x": Case(payload(op="x"), "unknown_operation"),
    "op_number": Case(payload(op=5), "unknown_operation"),
    "op_m": Case(payload(op="m")),
    "heartbeat": Case(text(lambda _: '{"ts_ms":1790000000000}')),
    "heartbeat_with_schema": Case(
        text(lambda _: '{"schema":{"type":"struct"},"payload":{"ts_ms":1790000000000}}')
    ),
    "notification": Case(text(lambda _: _NOTIFICATION)),
    "more_than_a_heartbeat": Case(text(lambda _: '{"ts_ms":1,"after":null}'), "no_operation"),
    "payload_null": Case(text(lambda _: '{"schema":null,"payload":null}'), "no_operation"),
    "source_null": Case(payload(source=None), "no_source_block"),
    "source_text": Case(payload(source="app.public"), "no_source_block"),
    "source_absent": Case(payload(source=GONE), "no_source_block"),
    "other_source": Case(source(name="other"), "foreign_source"),
    "unnamed_source": Case(source(name=None), "foreign_source"),
    "other_connector": Case(source(connector="mongodb"), "unknown_connector"),
    "table_absent": Case(source(table=GONE), "no_identity"),
    "table_empty": Case(source(table=""), "no_identity"),
    "table_of_other_topic": Case(source(table="elsewhere"), "wrong_topic"),
    "schema_of_other_topic": Case(source(schema="elsewhere"), "wrong_topic"),
    "sequence_null": Case(source(sequence=None), "no_position"),
    "sequence_text": Case(source(sequence="first"), "no_position"),
    "sequence_negative": Case(source(sequence='["-1","-2"]'), "no_position"),
    "sequence_too_long": Case(source(sequence=f'["900","{"9" * 21}"]'), "no_position"),
    "sequence_short": Case(source(sequence='["900"]'), "no_position"),
    "older_position": Case(older, rows=(1, 3)),
    "far_future": Case(payload(ts_ms=32_503_680_000_000), rows=_ALL),
    "time_as_text": Case(payload(ts_ms="1580390884335"), rows=_ALL),
    "transaction_text": Case(payload(transaction="571"), rows=_ALL),
    "snapshot_true": Case(source(snapshot=True), rows=_ALL),
}

KEYS = {
    "key_no_json": Case(key(b"abc"), "bad_key"),
    "key_array": Case(key(b"[2]"), "bad_key"),
    "key_number": Case(key(b"2"), "bad_key"),
    "key_empty": Case(key(b""), "bad_key"),
    "key_not_utf8": Case(key(b'{"id":"\xff"}'), "bad_key"),
    "key_half_pair": Case(key(b'{"id":"\\ud83d"}'), "bad_key"),
    "key_no_number": Case(key(b'{"id":"two"}'), "bad_key"),
    "key_of_other_row": Case(key(b'{"id":99}'), "key_mismatch"),
    "key_column_null": Case(key(b'{"id":null}'), "key_mismatch"),
    "key_null": Case(key(None), "no_key"),
    "key_other_columns": Case(key(b'{"v":null}'), hold="event key", rows=()),
}

IMAGES = {
    "no_image": Case(payload(after=None), "no_image"),
    "image_absent": Case(payload(after=GONE), "no_image"),
    "image_text": Case(payload(after="row"), "no_image"),
    "image_array": Case(payload(after=[2]), "no_image"),
    "update_without_image": Case(change("u", _ROW, None), "no_image"),
    "key_not_in_image": Case(after(id=GONE), "key_mismatch"),
    "column_absent": Case(after(v=GONE), rows=_ALL, stored=None),
    "column_unknown": Case(after(extra=1), "unknown_column"),
    "delete_of_no_row": Case(change("d", _ROW, None)),
    "delete_without_image": Case(change("d", None, None)),
    "placeholder": Case(
        change("u", None, {"id": 2, "v": _PLACEHOLDER}),
        detail="have no value for v",
        more=("1 rows changed that had never come",),
        rows=_ALL,
        stored=None,
    ),
    "keyless_delete": Case(change("d", None, None), "no_before_image", key=()),
    "keyless_tombstone": Case(
        lambda event: [*change("d", {"id": 1, "v": None}, None)(event), (None, None)],
        rows=(3,),
        key=(),
    ),
    "keyless_update": Case(change("u", None, _ROW), "no_before_image", key=()),
}

SCHEMAS = {
    "case_twins": Case(
        fields(ID, optional("a", "string"), optional("A", "string"), id=2),
        hold="differ only by case",
        rows=(1,),
    ),
    "type_unknown": Case(fields(ID, optional("v", "uuid"), id=2), hold="cannot be read", rows=(1,)),
    "schema_without_rows": Case(
        schema({"type": "struct", "fields": []}), hold="'after'", rows=(1,)
    ),
    "schema_text": Case(schema("schema"), rows=_ALL),
    "schema_absent": Case(schema(None), rows=_ALL),
    "type_changed": Case(fields(ID, _INT, id=2, v=5), hold="change_type", rows=(1,)),
    "type_narrowed": Case(fields(ID, _INT, id=2, v=5), column=_LONG, hold="narrow_type", rows=(1,)),
    "type_widened": Case(fields(ID, _LONG, id=2, v=2**40), column=_INT, rows=_ALL, stored=2**40),
    "now_required": Case(
        fields(ID, {**_INT, "optional": False}, id=2, v=5), column=_INT, rows=_ALL, stored=5
    ),
    "odd_names": Case(
        after(v="x"),
        columns=tuple(
            optional(name, "string")
            for name in ("a.b", "a`b", "new\nline", 'qu"ote', "qu'ote", "__x", "ünï 😀", "\\d", "1")
        ),
        rows=_ALL,
        stored="x",
    ),
    "long_name": Case(after(v="x"), columns=(optional("n" * 300, "string"),), rows=_ALL),
    "column_cdc": Case(after(v="x"), columns=(optional("_CDC", "string"),), rows=_ALL),
    "wide": Case(
        after(v="x"), columns=tuple(optional(f"c{n}", "int32") for n in range(1998)), rows=_ALL
    ),
    "too_wide": Case(
        fields(ID, *(optional(f"c{n}", "int32") for n in range(5000)), id=2),
        hold="5001 columns",
        rows=(1,),
    ),
    "schema_too_deep": Case(fields(ID, nested(400), id=2), hold="inside each other", rows=(1,)),
    "hostile_table": Case(after(v="x"), table="or'ders`; DROP TABLE x --", rows=_ALL),
    "table_of_state": Case(after(v="x"), table="orders__state", rows=_ALL),
}

CASES = {**FRAMING, **ENVELOPE, **KEYS, **IMAGES, **SCHEMAS}
