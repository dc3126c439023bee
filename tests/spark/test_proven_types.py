"""The types of JSON that the row images of messages without a schema prove."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from lakehouse.spark.batches.schema_samples import SchemaSamples

IMAGES: tuple[tuple[object, object], ...] = (
    (None, {"id": 1, "odd `name`": "a", "nothing": None, "n": 1}),
    ({"id": 2, "gone": True}, {"id": 1.5, "n": "text", "deep": {"<": [{}]}}),
    # Nothing of these is a row, and no row's type follows from them.
    ([1], "text"),
    (5, [{"id": "x"}]),
    (None, None),
)
EXPECTED = {
    "deep": "OBJECT<`<`: ARRAY<OBJECT<>>>",
    "gone": "BOOLEAN",
    "id": "DECIMAL(21,1)",
    "n": "VARIANT",
    "nothing": "VOID",
    "odd `name`": "STRING",
}


def test_all_images_of_rows_are_merged_and_asked_once(spark: SparkSession) -> None:
    texts = [json.dumps({"before": before, "after": after}) for before, after in IMAGES]
    rows = [(None, False, 7, text) for text in texts]
    rows += [("bad", False, 7, '{"after":{"unread":1}}'), (None, False, 8, '{"after":{"other":1}}')]
    frame = spark.createDataFrame(rows, "reason string, control boolean, fingerprint int, t string")
    envelopes = frame.selectExpr("reason", "control", "fingerprint", "parse_json(t) AS payload")
    samples = SchemaSamples(envelopes)
    some = samples.proven(envelopes.limit(1), [7], whole=False)
    assert "gone" not in some[7]
    assert samples.proven(envelopes, [7], whole=True) == {7: EXPECTED}
    assert samples.proven(envelopes.limit(0), [7], whole=True) == {7: EXPECTED}
    assert samples.proven(envelopes, [7, 8], whole=True)[8] == {"other": "BIGINT"}
