"""Parsing is one generated stage: an expression that Spark only interprets would copy each row."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.spark.parsing.envelopes import parse
from lakehouse.spark.session import tuned

MESSAGES = (
    "string(id) AS topic",
    "int(id) AS partition",
    "id AS offset",
    "timestamp_millis(id) AS timestamp",
    "string(id) AS topic_id",
    "timestamp_millis(id) AS landed_at",
    "binary(string(id)) AS key",
    "binary(string(id)) AS value",
    "array(named_struct('key', string(id), 'value', binary(string(id)))) AS headers",
)


@pytest.mark.parametrize("connector", sorted(CONNECTORS))
def test_parsing_is_one_generated_stage(spark: SparkSession, connector: str):
    text = f'connector = "{connector}"\ntopic_prefix = "p"\n[kafka]\ntopics = ["p[.].*"]\n'
    with tuned(spark, 1_000_000):
        messages = spark.range(10).selectExpr(*MESSAGES)
        envelopes = parse(
            messages, parse_source(text, "generated"), CONNECTORS[connector], ["p.s.t"]
        )
        envelopes.createOrReplaceTempView("parsed")
        ((plan,),) = spark.sql("EXPLAIN SELECT * FROM parsed").collect()
    operators = [line.lstrip(" +-:") for line in plan.splitlines() if "Project" in line]
    assert len(operators) > 5
    assert [each for each in operators if not each.startswith("*(1)")] == []
