"""Every function that Spark has is one that a condition may call, or one that it may not."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakehouse.config.row_functions import ALLOWED, REFUSED

# Functions over many rows, or that make rows: no condition over one row has one.
OTHERS = {"agg_funcs", "window_funcs", "generator_funcs", "table_funcs"}


def groups(spark: SparkSession) -> dict[str, str]:
    """Function → the group in which Spark's manual has it."""
    java = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils  # noqa: SLF001
    return {each.getName(): each.getGroup() for each in java.listBuiltinFunctionInfos()}


def test_somebody_has_decided_about_each_function_of_spark(spark: SparkSession) -> None:
    found = groups(spark)
    named = {name for name, group in found.items() if group not in OTHERS and name[0].isalpha()}
    assert named == ALLOWED | REFUSED.keys()
    assert not ALLOWED & REFUSED.keys()
