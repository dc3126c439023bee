"""What stands for an unchanged large value, of every type that the connectors have one for."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from lakehouse.quality.measuring.placeholders import placeholder_tests
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import laws_hold, open_runs

# As the connectors' code says; a value is fixed here where ours computes it.
AS_BASE64 = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
AS_HEX = "5f5f646562657a69756d5f756e617661696c61626c655f76616c7565"
AS_UUID = "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
BYTES = list(PLACEHOLDER.encode())
AS_JSON = f'{{"{PLACEHOLDER}":"{PLACEHOLDER}"}}'

STORED = {
    "string": [f"'{PLACEHOLDER}'", f"'{AS_HEX}'", f"'{AS_JSON}'"],
    "binary": [f"CAST('{PLACEHOLDER}' AS binary)"],
    "array<string>": [f"array('{PLACEHOLDER}')", f"array('{AS_UUID}')"],
    "array<binary>": [f"array(CAST('{PLACEHOLDER}' AS binary))"],
    "array<int>": [f"array({', '.join(map(str, BYTES))})"],
    "array<bigint>": [f"array({', '.join(f'{each}L' for each in BYTES)})"],
    "array<date>": [f"array({', '.join(f'date_from_unix_date({each})' for each in BYTES)})"],
    "map<string,string>": [f"map('{PLACEHOLDER}', '{PLACEHOLDER}')"],
}
VALUES = {
    "string": "'__debezium'",
    "binary": "CAST('__debezium' AS binary)",
    "array<string>": "array('a', NULL)",
    "array<binary>": "array(CAST('a' AS binary))",
    "array<int>": "array(95, 95, 100)",
    "array<bigint>": "CAST(NULL AS array<bigint>)",
    "array<date>": "array(date'1970-04-06')",
    "map<string,string>": f"map('a', '{PLACEHOLDER}')",
}


@pytest.mark.parametrize("kind", STORED)
def test_silver_is_searched_for_it(spark: SparkSession, kind: str):
    (test,) = placeholder_tests({"v": kind})
    rows = [*STORED[kind], VALUES[kind]]
    stored = " UNION ALL ".join(f"SELECT {n} AS n, {value} AS v" for n, value in enumerate(rows))
    found = spark.sql(f"SELECT n, {test} AS is_placeholder FROM ({stored}) ORDER BY n").collect()
    assert [row.is_placeholder for row in found] == [True] * len(STORED[kind]) + [False]


def array(name: str, element: str) -> dict[str, object]:
    return column(name, "array", items={"type": element, "optional": True})


# Of each column the value of a new row, and what stands for it when it did not change.
SENT = {
    "photo": (column("photo", "bytes"), "/w==", AS_BASE64),
    "digits": (column("digits", "string"), "ff", AS_HEX),
    "pairs_text": (column("pairs_text", "string"), '{"a":"b"}', AS_JSON),
    "texts": (array("texts", "string"), ["a"], [PLACEHOLDER]),
    "uuids": (array("uuids", "string"), ["9c5b94b1-35ad-49bb-b118-8e8fc24abf80"], [AS_UUID]),
    "photos": (array("photos", "bytes"), ["/w=="], [AS_BASE64]),
    "ints": (array("ints", "int32"), [1, 2], BYTES),
    "bigints": (array("bigints", "int64"), [2**40], BYTES),
    "pairs": (
        column("pairs", "map", keys={"type": "string"}, values={"type": "string"}),
        {"a": "b"},
        {PLACEHOLDER: PLACEHOLDER},
    ),
}


@pytest.mark.further
def test_a_row_keeps_what_it_had_in_every_column(spark, settings, tmp_path):
    runs, connector = open_runs(spark, settings, tmp_path, "kept"), Postgres("kept")
    kinds = [kind for kind, _, _ in SENT.values()]
    table = Table("large", [column("id", "int32", optional=False), column("n", "int32"), *kinds])
    first = {name: value for name, (_, value, _) in SENT.items()}
    gaps = {name: gap for name, (_, _, gap) in SENT.items()}
    connector.snapshot(table, [{"id": 1, "n": 0, **first}])
    assert laws_hold(runs.run(connector)["apply"])
    shown = [f"to_json(struct({', '.join(SENT)})) AS shown"]
    (before,) = runs.rows("large", *shown)
    assert set(json.loads(str(before[0]))) == set(SENT)
    connector.transact((table, "u", None, {"id": 1, "n": 1, **gaps}))
    outcome = runs.run(connector)
    assert laws_hold(outcome["apply"])
    assert outcome["validate"].detail["verdict"] == "passed"
    assert runs.rows("large", "n", *shown) == [(1, *before)]
