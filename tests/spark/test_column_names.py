"""Columns of a source that are called as the pipeline's own are."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs, laws_hold

NAMES = ("key", "row_key", "image", "op", "position", "topic", "offset", "_cdc", "_version")


def test_a_source_may_call_its_columns_as_the_pipeline_does(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    name = "own_names"
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[tables."public.settings"]\ndelete = "soft"\nhistory = true\n'
    runs, pg = Runs(spark, settings, tmp_path, parse_source(text, name)), Postgres(name)
    columns = [column("key", "string", optional=False), *(column(n, "string") for n in NAMES[1:])]
    table = Table("settings", columns, key=("key", "row_key"))

    def row(key: str, value: str) -> dict[str, object]:
        return dict.fromkeys(NAMES, value) | {"key": key, "row_key": key}

    pg.snapshot(table, [row("a", "1"), row("b", "1"), row("c", "1")])
    assert laws_hold(runs.run(pg)["apply"])
    pg.transact(
        (table, "u", None, {**row("a", "2"), "image": PLACEHOLDER}),
        (table, "d", row("b", "1"), None),
    )
    assert laws_hold(runs.run(pg)["apply"])
    pg.transact((table, "t", None, None), (table, "c", None, row("d", "4")))
    outcome = runs.run(pg)

    assert outcome["validate"].detail["verdict"] == "passed"
    found = runs.rows("settings", "key", "row_key", "image", "_version", "_cdc")
    assert found == [
        ("a", "a", "1", "2", "2"),
        ("b", "b", "1", "1", "1"),
        ("c", "c", "1", "1", "1"),
        ("d", "d", "4", "4", "4"),
    ]
    versions = runs.rows(
        "settings__history", "key", "coalesce(image, '') AS image", "coalesce(_version, '')"
    )
    assert [row for row in versions if row[0] == "a"] == [("a", "1", "1"), ("a", "1", "2")]
