"""A catalog that makes a commit and loses the answer: nothing is lost, doubled or unreadable.

A client that believes the error removes the files of the snapshot that the catalog points to
(`reliability.md` §0.1); the first test shows it. The others lose answers of our own writes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from lakehouse.config import Settings
from lakehouse.plan.upkeep.compacting import Layout
from lakehouse.spark import altering, branches, tables
from lakehouse.spark.commits import FAILURES, ref_of
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import load_metadata
from lakehouse.spark.rewriting import procedures
from lakehouse.spark.staging.row_delta import RowDelta, commit_delta
from lakehouse.spark.staging.silver import PROPERTIES
from lakehouse.spark.tables import full_name
from tests.support.campaign import unread
from tests.support.debezium import Postgres, Table, column
from tests.support.lost_answers import STATES, LostAnswers
from tests.support.runs import Runs, laws_hold, open_runs
from tests.support.sampling import EVERY_CASE, share

ROWS = T.StructType([T.StructField("id", T.LongType()), T.StructField("name", T.StringType())])
# Each write that the two runs below make through Java, and some of them: run and number.
WRITES = [*((1, nth) for nth in range(1, 19)), *((2, nth) for nth in range(1, 15))]
SOME_WRITES = WRITES if EVERY_CASE else [(2, 7)]
SOME_STATES = STATES if EVERY_CASE else ("08006", "HY000")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session that opens its catalog anew, so that its connections are watched ones."""
    LostAnswers(spark)
    return spark.newSession()


def snapshots_unread(catalog: Catalog, namespace: str) -> list[str]:
    """The snapshots of a namespace's tables of which a file is missing."""
    return unread(catalog, [".".join(name) for name in catalog.list_tables(namespace)])


def table_of_two(spark: SparkSession, name: str) -> None:
    tables.create_table(spark, name, ROWS, PROPERTIES)
    branches.create_branch(spark, name, "begun")
    rows = spark.createDataFrame([(1, "a"), (2, "b")], ROWS).coalesce(1)
    tables.append_on_branch(rows, name, "begun")
    branches.fast_forward(spark, name, "begun")


def test_one_lost_answer_destroys_the_table_of_a_client_that_believes_it(
    session: SparkSession, settings: Settings
) -> None:
    table_of_two(session, "naive.rows")
    merge = f"MERGE INTO {full_name('naive.rows')} t USING (SELECT 2L AS id, 'c' AS name) s "
    merge += "ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"

    with LostAnswers(session).losing(1, "08006"), pytest.raises(Py4JJavaError):
        session.sql(merge)

    catalog = Ledger(settings).catalog
    assert len(snapshots_unread(catalog, "naive")) == 1
    catalog.drop_table("naive.rows")


@pytest.mark.parametrize("state", SOME_STATES)
def test_each_write_is_made_once(session: SparkSession, settings: Settings, state: str) -> None:
    space, catalog = f"lost_{state.lower()}", Ledger(settings).catalog
    name, answers = f"{space}.rows", LostAnswers(session)

    def lose(act: Callable[[], object]) -> None:
        with answers.losing(1, state):
            act()
        assert not answers.left
        assert snapshots_unread(catalog, space) == []

    def rows() -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in tables.at_ref(session, name, "work").collect())

    table_of_two(session, name)
    lose(lambda: branches.create_branch(session, name, "work"))
    more = session.createDataFrame([(3, "c")], ROWS)
    lose(lambda: tables.append_on_branch(more, name, "work", {"lakehouse.cut_id": "1"}))
    assert rows() == [(1, "a"), (2, "b"), (3, "c")]
    lose(lambda: tables.delete_on_branch(session, name, "work", "id = 1", {}))
    assert rows() == [(2, "b"), (3, "c")]
    lose(lambda: tables.update_on_branch(session, name, "work", "name = 'd'", {}, where="id = 2"))
    assert rows() == [(2, "d"), (3, "c")]
    # A whole file goes, which Spark commits without what says whose commit it is.
    lose(lambda: tables.delete_on_branch(session, name, "work", "id = 3", {}))
    assert rows() == [(2, "d")]
    lose(lambda: branches.fast_forward(session, name, "work"))
    lose(lambda: branches.create_tag(session, name, "kept", _head(catalog, name)))
    lose(lambda: altering.add_columns(session, name, [T.StructField("qty", T.IntegerType())]))
    lose(lambda: altering.rename_column(session, name, "qty", "amount"))
    lose(lambda: altering.set_properties(session, name, {"lakehouse.soft-delete": "true"}))
    assert rows() == [(2, "d", None)]
    lose(lambda: altering.drop_columns(session, name, ["amount"]))
    lose(lambda: altering.rename_table(session, name, f"{space}.moved"))
    name = f"{space}.moved"
    assert rows() == [(2, "d")]
    assert _head(catalog, name) == ref_of(session, full_name(name), "work")


@pytest.mark.parametrize("state", SOME_STATES)
def test_a_change_without_a_scan_is_made_once(
    session: SparkSession, settings: Settings, state: str
) -> None:
    space, catalog = f"delta_{state.lower()}", Ledger(settings).catalog
    name, answers = f"{space}.rows", LostAnswers(session)
    table_of_two(session, name)
    stored = session.sql(f"SELECT _file, _pos FROM {full_name(name)} WHERE id = 1").collect()
    places = {row["_file"]: [row["_pos"]] for row in stored}
    rows = session.createDataFrame([(3, "c")], ROWS).toArrow()
    delta = RowDelta(_head(catalog, name), places, rows)

    with answers.losing(1, state):
        assert commit_delta(session, catalog, name, "work", delta, {"lakehouse.cut_id": "1"})

    assert not answers.left
    assert snapshots_unread(catalog, space) == []
    changed = tables.at_ref(session, name, "work").collect()
    assert sorted(tuple(row) for row in changed) == [(2, "b"), (3, "c")]
    assert [tuple(row) for row in session.table(full_name(name)).collect()] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("state", SOME_STATES)
def test_maintenance_that_fails_is_done_by_the_next(
    session: SparkSession, settings: Settings, state: str
) -> None:
    space, catalog = f"kept_{state.lower()}", Ledger(settings).catalog
    name, answers = f"{space}.rows", LostAnswers(session)
    table_of_two(session, name)
    tables.delete_on_branch(session, name, "begun", "id = 1", {})
    branches.fast_forward(session, name, "begun")
    branches.drop_branch(session, name, "begun")

    def lose(act: Callable[[], object]) -> None:
        with answers.losing(1, state), suppress(*FAILURES):
            act()
        assert not answers.left
        assert snapshots_unread(catalog, space) == []
        act()
        assert snapshots_unread(catalog, space) == []

    def expire() -> int:
        metadata = load_metadata(catalog, name)
        old = [each.snapshot_id for each in metadata.snapshots][:-1] if metadata else []
        return procedures.expire_snapshots(session, name, old) if old else 0

    lose(lambda: procedures.rewrite_data_files(session, name, Layout()))
    lose(lambda: procedures.rewrite_manifests(session, name))
    lose(expire)
    assert expire() == 0
    assert [tuple(row) for row in session.table(full_name(name)).collect()] == [(2, "b")]


def history(name: str) -> tuple[Postgres, Table, Table]:
    source = Postgres(name)
    columns = [column("id", "int32", optional=False), column("name", "string")]
    orders, notes = Table("orders", columns), Table("notes", columns)
    source.snapshot(orders, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    source.snapshot(notes, [{"id": 1, "name": "a"}])
    return source, orders, notes


def change_all(source: Postgres, orders: Table, notes: Table) -> None:
    """Rows created, updated and deleted in two tables, and a column added."""
    wide = Table("orders", [*orders.columns, column("qty", "int32")])
    source.transact(
        (orders, "u", None, {"id": 2, "name": "c"}),
        (orders, "c", None, {"id": 3, "name": "d"}),
        (notes, "u", None, {"id": 1, "name": "b"}),
    )
    source.transact(
        (wide, "d", {"id": 3, "name": "d", "qty": None}, None),
        (wide, "u", None, {"id": 1, "name": "a", "qty": 5}),
    )


def end_right(runs: Runs, source: Postgres) -> None:
    """One more run ends like the source, and each message has one place."""
    outcomes = runs.run(source)
    assert [each.message for each in outcomes.values() if each.status != "succeeded"] == []
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "name", "qty") == [(1, "a", 5), (2, "c", None)]
    assert runs.rows("notes", "id", "name") == [(1, "b")]
    bronze = runs.spark.table(full_name(f"bronze.{runs.source.name}"))
    assert bronze.count() == bronze.select("topic", "partition", "offset").distinct().count()


@pytest.mark.parametrize(("number", "nth"), SOME_WRITES)
def test_a_run_goes_on_behind_a_lost_answer(
    session: SparkSession,
    settings: Settings,
    tmp_path: Path,
    number: int,
    nth: int,
    figure: Callable[[str], None],
) -> None:
    state = STATES[nth % len(STATES)]
    runs = open_runs(session, settings, tmp_path, f"answer{number}of{nth}")
    source, orders, notes = history(runs.source.name)
    answers = LostAnswers(session)
    for run in (1, 2):
        if run == 2:
            change_all(source, orders, notes)
        with answers.losing(nth if run == number else 0, state):
            outcomes = runs.run(source)
        assert not answers.left
        assert [each.status for each in outcomes.values()] == ["succeeded"] * 5

    end_right(runs, source)
    catalog = runs.ledger.catalog
    assert snapshots_unread(catalog, f"silver_{runs.source.name}") == []
    assert unread(catalog, [f"bronze.{runs.source.name}"]) == []
    figure(f"lost answers of a run's writes: {share(SOME_WRITES, WRITES)}, states {STATES}")


def _head(catalog: Catalog, name: str) -> int:
    metadata = load_metadata(catalog, name)
    assert metadata
    assert metadata.current_snapshot_id
    return metadata.current_snapshot_id
