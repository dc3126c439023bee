"""The payload and the schema of a message, however whoever wrote it has put them."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from lakehouse.spark.parsing.documents import with_documents
from lakehouse.spark.parsing.heads import without_heads

SCHEMA = {"type": "struct", "fields": [{"type": "string", "field": "payload"}], "name": "é"}
PAYLOAD = {"op": "c", "after": {"payload": 1, "schema": "x", "note": ',"payload":é'}}
NAMED = {**SCHEMA, "parameters": {"a": "1", "payload": "2"}, "doc": 'a ,"payload": b'}
BROKEN = (
    '{"schema":{"a":1,"payload":{"op":"c"}}',
    '{"schema":{"a":1]},"payload":{"op":"c"}}',
    '{"schema":{"a":1} x,"payload":{"op":"c"}}',
    '{"schema":{"a":1},{},"payload":{"op":"c"}}',
    '{"schema":{"a":1},"payload":{"op":"c"}',
    '{"schema":{"a":1},"payload":{"op":"c"}}}',
    '{"schema":{"a":1},"payload":{"op":"c"}} {}',
    '{"schema":{"a":1},"payload":{"op":"c"},"schema":null}',
    '{"schema":{"a":1},"payload":{"op":"c"},"payload":{}}',
    '{"schema":{"a":1},"payload":{"op":"c","op":"d"}}',
    '{"schema":{"a":1},"payload":}',
    '{"schema":{"a":1}] x,"payload":{"op":"c"}}',
    '{"schema":{"a":1},5] x,"payload":{"op":"c"}}',
    '{"op":"c"},"x":{}',
    '{"op":"c"},"x"',
    '{"op":"c"},"one":{}}',
    '{"op":"c"},"one":{}} x',
    '{"op":"c"}] x',
    '{"op":"c"},5] x',
    '{"op":"c"}{}',
    '"text" "',
    "",
)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(spark: SparkSession, *texts: str | None) -> list[dict[str, object]]:
    """What values are read as, and what keys are."""
    sent = [None if text is None else bytearray(text.encode()) for text in texts]
    rows = [(n, value, value) for n, value in enumerate(sent)]
    frame = spark.createDataFrame(rows, "n int, key binary, value binary")
    columns = (
        "is_json",
        "row_schema",
        "to_json(payload) AS payload",
        "to_json(key_payload) AS key",
    )
    found = (
        with_documents(without_heads(frame, ())).orderBy("n").selectExpr("n", *columns).collect()
    )
    return [row.asDict() for row in found]


@pytest.mark.parametrize("schema", [SCHEMA, NAMED, {}], ids=["plain", "with the name", "empty"])
@pytest.mark.parametrize("write", [compact, json.dumps], ids=["compact", "spaced"])
def test_schema_and_payload_are_told_apart(spark: SparkSession, schema: object, write):
    both = ({"schema": schema, "payload": PAYLOAD}, {"payload": PAYLOAD, "schema": schema})
    for row in read(spark, *map(write, both)):
        assert row["is_json"]
        assert json.loads(str(row["row_schema"])) == schema
        assert json.loads(str(row["payload"])) == PAYLOAD
        assert json.loads(str(row["key"])) == PAYLOAD


def test_messages_without_a_schema_are_all_payload(spark: SparkSession):
    bare, none, nothing = read(spark, compact(PAYLOAD), '{"schema":null,"payload":null}', None)
    assert (bare["is_json"], bare["row_schema"]) == (True, None)
    assert json.loads(str(bare["payload"])) == json.loads(str(bare["key"])) == PAYLOAD
    assert (none["is_json"], none["row_schema"], none["payload"]) == (True, None, "null")
    assert (nothing["is_json"], nothing["payload"], nothing["key"]) == (False, None, None)


def test_what_is_no_json_document_is_none(spark: SparkSession):
    assert [row["is_json"] for row in read(spark, *BROKEN)] == [False] * len(BROKEN)
