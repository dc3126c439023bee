"""Small files of silver are merged behind a publication: the same rows, whatever else goes on."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.lease import Holder
from lakehouse.plan.upkeep import autocompacting
from lakehouse.spark.control.lease_table import LeaseTable
from lakehouse.spark.metadata import load_metadata, own_properties, progress_of_main
from lakehouse.spark.rewriting.upkeep import figures
from lakehouse.spark.tables import full_name
from lakehouse.steps.tidying import autocompact
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
FILES = 5  # Iceberg merges no fewer.


def changed(runs: Runs, source: Postgres, number: int) -> list[tuple[object, ...]]:
    """The rows that a run publishes which deletes one, changes one and adds one."""
    events = [(ORDERS, "c", None, {"id": 100 + number, "name": "new"})]
    events += [(ORDERS, "u", None, {"id": 0, "name": f"changed {number}"})]
    events += [(ORDERS, "d", {"id": number, "name": "old"}, None)]
    source.transact(*events)
    outcomes = runs.run(source)
    assert [each.message for each in outcomes.values() if each.status != "succeeded"] == []
    assert laws_hold(outcomes["apply"])
    return runs.rows("orders", "id", "name")


def expected(batches: int) -> list[tuple[object, ...]]:
    old = [(number, "old") for number in range(1, 10) if number > batches]
    new = [(100 + number, "new") for number in range(1, batches + 1)]
    return sorted([(0, f"changed {batches}"), *old, *new])


def begin(
    spark: SparkSession, settings: Settings, folder: Path, name: str
) -> tuple[Runs, Postgres, tuple[str, str]]:
    runs, source = open_runs(spark, settings, folder, name), Postgres(name)
    source.snapshot(ORDERS, [{"id": number, "name": "old"} for number in range(10)])
    runs.run(source)
    silver = f"silver_{name}.public__orders"
    return runs, source, (silver, f"{silver}__state")


def files(runs: Runs, tables: tuple[str, str]) -> list[int]:
    found = (load_metadata(runs.ledger.catalog, table) for table in tables)
    return [figures(each).files for each in found if each]


def test_a_run_merges_what_the_runs_before_it_left(
    spark: SparkSession, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, source, tables = begin(spark, settings, tmp_path, "autocompact")
    for batch in range(1, FILES):
        assert changed(runs, source, batch) == expected(batch)
    assert files(runs, tables) == [FILES, FILES - 1]
    monkeypatch.setattr(autocompacting, "MANY_FILES_OF_FEW_ROWS", FILES)

    assert changed(runs, source, FILES) == expected(FILES)

    assert files(runs, tables) == [1, 1]
    cut = runs.ledger.newest_cut("autocompact")
    assert cut is not None
    for table in tables:
        metadata = load_metadata(runs.ledger.catalog, table)
        assert metadata is not None
        staged = metadata.snapshot_by_id(cut.tables[table])
        assert staged is not None
        assert progress_of_main(metadata) == own_properties(staged)
        assert set(metadata.refs) == {"main"} | {n for n in metadata.refs if n.startswith("cut_")}
    as_of_cut = f"{full_name(tables[0])} VERSION AS OF 'cut_{cut.cut_id}'"
    rows = spark.sql(f"SELECT id, name FROM {as_of_cut}").collect()
    assert sorted(map(tuple, rows)) == expected(FILES)
    assert changed(runs, source, FILES + 1) == expected(FILES + 1)
    assert files(runs, tables) == [2, 2]


@pytest.mark.further
def test_nothing_is_merged_while_another_has_the_lease_or_the_store_fails(
    spark: SparkSession, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, source, tables = begin(spark, settings, tmp_path, "autobusy")
    for batch in range(1, FILES):
        changed(runs, source, batch)
    monkeypatch.setattr(autocompacting, "MANY_FILES_OF_FEW_ROWS", FILES)
    context, leases = runs.context(), LeaseTable(runs.ledger.catalog, "autobusy")
    # The state table has a file less: a first load has no marks.
    assert autocompact(context, tables[1:]) == ()

    mine = leases.current()
    assert mine is not None
    elsewhere = replace(mine, holder=Holder("elsewhere", 1, 1), expires_at_s=time.time() + 60)
    assert leases.wrote(elsewhere)
    assert autocompact(context, tables) == ()
    assert leases.wrote(mine)
    file = Path(urlsplit(spark.table(full_name(tables[0])).select("_file").head()[0]).path)
    away = file.rename(file.with_suffix(".away"))
    assert autocompact(context, tables) == ()
    assert files(runs, tables) == [FILES, FILES - 1]

    away.rename(file)
    assert autocompact(context, tables) == tables[:1]
    assert files(runs, tables) == [1, FILES - 1]
    assert runs.rows("orders", "id", "name") == expected(FILES - 1)
    assert changed(runs, source, FILES) == expected(FILES)
