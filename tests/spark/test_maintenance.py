"""Maintenance of a source's tables: fewer files and snapshots, and the same rows for everybody."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.names import bronze_table
from lakehouse.plan.records import STEPS
from lakehouse.plan.upkeep.compacting import Figures, Maintained
from lakehouse.spark import branches
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.metadata import head, load_metadata, refs
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.maintain import maintain
from lakehouse.steps.runner import execute
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
DAY = timedelta(days=1)
RUNS = 6 if EVERY_CASE else 5  # Files are rewritten where five go away.
VERSION = ("id", "_version.from_position", "_version.op", "_version.is_current")


def opened(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Runs:
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[tables."public.orders"]\nhistory = true\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def ran(runs: Runs, source: Postgres) -> list[tuple[object, ...]]:
    """The rows that a run publishes; every message has one place."""
    outcomes = runs.run(source)
    assert [each.message for each in outcomes.values() if each.status != "succeeded"] == []
    assert laws_hold(outcomes["apply"])
    return runs.rows("orders", "id", "name")


def maintained(runs: Runs, age: timedelta = timedelta(0)) -> dict[str, Maintained]:
    """What maintenance did to each table, as if so much time had passed."""
    outcome = maintain(runs.context(), datetime.now(UTC) + age)
    assert (outcome.status, outcome.exit_code) == ("succeeded", 0), outcome.message
    return by_table(outcome)


def by_table(outcome: StepOutcome) -> dict[str, Maintained]:
    done = [Maintained.from_detail(each) for each in outcome.detail["tables"]]
    return {each.table.rpartition("__")[2]: each for each in done}


def figures(done: Maintained) -> tuple[Figures, Figures]:
    assert done.before is not None
    assert done.after is not None
    return done.before, done.after


def at_cut(runs: Runs, snapshot: int, table: str = "public__orders") -> list[tuple[object, ...]]:
    """The rows of a snapshot, read as README.md says."""
    name = full_name(f"silver_{runs.source.name}.{table}")
    found = runs.spark.read.option("versionAsOf", snapshot).table(name)
    return sorted(tuple(row) for row in found.select("id", "name").collect())


def cuts(runs: Runs) -> dict[str, int]:
    """Each published cut and its snapshot of the table."""
    found = runs.ledger.cuts(runs.source.name)
    name = f"silver_{runs.source.name}.public__orders"
    return {cut.cut_id: cut.tables[name] for cut in found if cut.state == "published"}


def test_many_runs_leave_small_tables_and_readable_cuts(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = opened(spark, settings, tmp_path, "maintained"), Postgres("maintained")
    silver, catalog = "silver_maintained.public__orders", runs.ledger.catalog
    source.snapshot(ORDERS, [{"id": number, "name": "a"} for number in range(3)])
    published = [ran(runs, source)]
    for number in range(1, RUNS):
        source.transact(
            (ORDERS, "c", None, {"id": 100 + number, "name": "new"}),
            (ORDERS, "u", None, {"id": 0, "name": f"changed {number}"}),
            *([(ORDERS, "d", {"id": 100 + number - 1, "name": "new"}, None)] if number > 1 else ()),
        )
        published.append(ran(runs, source))
    rows, before = published[-1], head(catalog, silver)
    history = runs.rows("orders__history", *VERSION)
    assert before is not None

    done = maintained(runs)

    was, became = figures(done["orders"])
    assert (was.files >= RUNS, became.files, became.deletes) == (True, 1, 0)
    assert figures(done["history"])[1].files < figures(done["history"])[0].files
    assert figures(done["quality.runs"])[1].files < figures(done["quality.runs"])[0].files
    assert runs.rows("orders", "id", "name") == rows
    assert runs.rows("orders__history", *VERSION) == history
    assert [at_cut(runs, snapshot) for snapshot in cuts(runs).values()] == published
    after = head(catalog, silver)
    assert after is not None
    ours = {name: text for name, text in before.summary.items() if name.startswith("lakehouse.")}
    assert after.snapshot_id != before.snapshot_id
    assert ours.items() <= after.summary.items()
    assert "lakehouse.rows" in ours

    again = maintained(runs)
    assert all(each.before == each.after for each in again.values() if "quality" not in each.table)
    source.transact((ORDERS, "d", {"id": 1, "name": "a"}, None))
    published.append(ran(runs, source))
    assert published[-1] == [row for row in rows if row[0] != 1]

    _expired_after_many_days(runs, published)

    source.transact((ORDERS, "c", None, {"id": 200, "name": "last"}))
    assert ran(runs, source) == [*published[-1], (200, "last")]
    landed = spark.table(full_name(bronze_table("maintained")))
    assert landed.count() == landed.select("topic", "partition", "offset").distinct().count()


def _expired_after_many_days(runs: Runs, published: list[list[tuple[object, ...]]]) -> None:
    """The last two cuts stay, bronze is one file, and nothing else has changed."""
    catalog = runs.ledger.catalog
    bronze = Bronze(runs.source.name, runs.ledger)
    messages, landed = bronze.messages(runs.spark).count(), bronze.recorded()
    snapshots = list(cuts(runs).values())

    done = maintained(runs, 40 * DAY)

    assert [at_cut(runs, snapshot) for snapshot in snapshots[-2:]] == published[-2:]
    for snapshot in snapshots[:-2]:
        with pytest.raises((PySparkException, Py4JJavaError)):
            at_cut(runs, snapshot)
    assert runs.rows("orders", "id", "name") == published[-1]
    for name in ("orders", "history", "state"):
        was, became = figures(done[name])
        assert became.snapshots < was.snapshots
        assert done[name].removed > 0
    was, became = figures(done["bronze.maintained"])
    assert (was.files > 1, became.files) == (True, 1)
    assert became.snapshots < was.snapshots
    assert bronze.messages(runs.spark).count() == messages
    assert bronze.recorded() == landed
    assert landed is not None
    tags = refs(catalog, f"silver_{runs.source.name}.public__orders")
    assert set(tags) - {"main"} == {f"cut_{cut}" for cut in list(cuts(runs))[-2:]}


@pytest.mark.further
def test_a_run_goes_on_where_maintenance_came_between_and_leftovers_go(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = opened(spark, settings, tmp_path, "upkept"), Postgres("upkept")
    silver, bronze = "silver_upkept.public__orders", bronze_table("upkept")
    source.snapshot(ORDERS, [{"id": number, "name": "a"} for number in range(3)])
    first = ran(runs, source)
    for name in ("staging_dead_1_0", "maintenance_77", "somebody_s"):
        branches.create_branch(spark, silver, name)
    branches.create_branch(spark, bronze, "landing_dead_1_1_ab")
    source.transact((ORDERS, "c", None, {"id": 7, "name": "b"}))
    archive = source.archive(tmp_path / "second")
    context = replace(runs.context(archive), lone_step=True)
    for step in STEPS[:-1]:
        assert execute(step, context).status == "succeeded"
    staged = {name for name in refs(runs.ledger.catalog, silver) if name.startswith("staging_")}

    maintained(runs, 2 * DAY)

    left = set(refs(runs.ledger.catalog, silver))
    assert left >= {"somebody_s", *(staged - {"staging_dead_1_0"})}
    assert not left & {"staging_dead_1_0", "maintenance_77"}
    assert "landing_dead_1_1_ab" not in refs(runs.ledger.catalog, bronze)
    assert runs.rows("orders", "id", "name") == first
    with pytest.raises(AssertionError, match="holds the lease"):
        ran(runs, source)

    published = execute("publish", context)
    assert published.status == "succeeded", published.message
    assert runs.rows("orders", "id", "name") == [*first, (7, "b")]
    source.transact((ORDERS, "d", {"id": 7, "name": "b"}, None))
    assert ran(runs, source) == first


def folder_of(runs: Runs, table: str) -> Path:
    metadata = load_metadata(runs.ledger.catalog, f"silver_{runs.source.name}.{table}")
    assert metadata is not None
    return Path(urlsplit(metadata.location).path)


def write_small_files(spark: SparkSession, table: str, location: str = "") -> None:
    """A table of six files with a row each."""
    place = f"LOCATION '{location}'" if location else ""
    spark.sql(f"CREATE TABLE lakehouse.{table} (id int) USING iceberg {place}")
    for number in range(6):
        spark.sql(f"INSERT INTO lakehouse.{table} VALUES ({number})")


def test_files_that_killed_writers_left_go_unless_they_may_be_another_table_s(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, source = opened(spark, settings, tmp_path, "orphaned"), Postgres("orphaned")
    source.snapshot(ORDERS, [{"id": 1, "name": "a"}])
    rows = ran(runs, source)
    own, shared = folder_of(runs, "public__orders"), folder_of(runs, "public__orders__history")
    write_small_files(spark, "silver_orphaned.other", f"file://{shared}")
    old, young = [folder / "data" / "left.parquet" for folder in (own, shared)], own / "coming"
    for path in (*old, young):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"rows")
    four_days = time.time() - 4 * DAY.total_seconds()
    for path in (*old, *shared.rglob("*.parquet"), *own.rglob("*.parquet")):
        os.utime(path, (four_days, four_days))

    done = maintained(runs)

    assert [path.exists() for path in (*old, young)] == [False, True, True]
    assert "orphans stay: silver_orphaned.other" in done["history"].notes[0]
    assert (done["orders"].removed, done["orders"].notes) == (1, ())
    assert runs.rows("orders", "id", "name") == rows
    assert spark.table("lakehouse.silver_orphaned.other").count() == 6


@pytest.mark.further
def test_one_table_s_failure_is_told_and_stops_no_other(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    runs, tables_of = opened(spark, settings, tmp_path, "halfkept"), ("broken", "whole")
    spark.sql("CREATE NAMESPACE lakehouse.silver_halfkept")
    for name in tables_of:
        write_small_files(spark, f"silver_halfkept.{name}")
    next((folder_of(runs, "broken") / "data").glob("*.parquet")).unlink()

    outcome = execute("maintain", runs.context())

    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert "failed: silver_halfkept.broken: " in outcome.message
    done = by_table(outcome)
    assert [name for name in done if done[name].error] == ["silver_halfkept.broken"]
    assert figures(done["silver_halfkept.whole"])[1].files == 1
    row = runs.ledger.newest_run("halfkept", "maintain")
    assert row is not None
    assert (row.status, row.message) == ("failed", outcome.message)
