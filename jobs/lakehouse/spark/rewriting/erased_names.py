"""Keys in control tables: the texts that name a subject's keys give way to a word.

In: a source and the texts. Out: at most one commit on each control table that has one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import SparkSession

from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.records import RESULTS, RUNS, ControlTable
from lakehouse.plan.remaking.erasing import ERASED, Names
from lakehouse.spark import tables
from lakehouse.spark.sql import any_of, literal


def erase_names(spark: SparkSession, source: str, names: Names) -> list[ControlTable]:
    """Replace the names of keys in a source's rows; gives the tables that had some."""
    columns: Mapping[ControlTable, Mapping[str, tuple[str, ...]]] = {
        RUNS: {"message": names.plain, "detail": names.in_json},
        RESULTS: {"samples": names.in_json, "observed": names.in_json},
    }
    return [control for control, each in columns.items() if _erase_in(spark, control, source, each)]


def _erase_in(
    spark: SparkSession, control: ControlTable, source: str, columns: Mapping[str, tuple[str, ...]]
) -> bool:
    mine = f"source = {literal(source)}"
    named = any_of(
        f"contains({column}, {literal(text)})"
        for column, texts in columns.items()
        for text in texts
    )
    where = f"{mine} AND ({named})"
    if spark.table(tables.full_name(control.name)).where(where).isEmpty():
        return False
    assignments = ", ".join(
        f"{column} = {reduce(_replaced, texts, column)}" for column, texts in columns.items()
    )
    tables.update_on_branch(spark, control.name, MAIN, assignments, {}, where=where)
    return True


def _replaced(column: str, text: str) -> str:
    return f"replace({column}, {literal(text)}, {literal(ERASED)})"
