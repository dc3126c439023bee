"""A small change of a table without a scan: what it starts from, and what it leaves to others."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from lakehouse.config import Settings
from lakehouse.spark import branches, tables
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import head, load_metadata, refs
from lakehouse.spark.staging.row_delta import RowDelta, commit_delta
from lakehouse.spark.staging.silver import PROPERTIES
from lakehouse.spark.tables import full_name
from tests.support.campaign import begin

ROWS = T.StructType([T.StructField("id", T.LongType()), T.StructField("name", T.StringType())])
FIRST = [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


class Small:
    """A table of four rows, and changes of it on a branch."""

    def __init__(self, spark: SparkSession, catalog: Catalog, name: str) -> None:
        self.spark, self.catalog, self.name = spark, catalog, name
        tables.create_table(spark, name, ROWS, PROPERTIES)
        branches.create_branch(spark, name, "begun")
        tables.append_on_branch(spark.createDataFrame(FIRST, ROWS).coalesce(1), name, "begun")
        self.publish("begun")

    def publish(self, branch: str) -> None:
        branches.fast_forward(self.spark, self.name, branch)
        branches.drop_branch(self.spark, self.name, branch)

    def delta(self, gone: list[int], new: list[tuple[int, str]]) -> RowDelta:
        """Built on what `main` is now."""
        newest = head(self.catalog, self.name)
        assert newest is not None
        ids = ", ".join(map(str, gone or [0]))
        query = f"SELECT _file, _pos FROM {full_name(self.name)} WHERE id IN ({ids})"
        places: dict[str, list[int]] = {}
        for row in self.spark.sql(query).collect():
            places.setdefault(row["_file"], []).append(row["_pos"])
        rows = self.spark.createDataFrame(new, ROWS).toArrow()
        return RowDelta(newest.snapshot_id, places, rows)

    def commit(self, delta: RowDelta, branch: str) -> bool:
        return commit_delta(self.spark, self.catalog, self.name, branch, delta, {"by": "us"})

    def rewrite(self) -> None:
        call = f"rewrite_data_files(table => '{full_name(self.name)}', "
        self.spark.sql(
            f"CALL lakehouse.system.{call}options => map('rewrite-all', 'true'))"
        ).collect()

    def rows(self, branch: str) -> list[tuple[object, ...]]:
        found = tables.at_ref(self.spark, self.name, branch).collect()
        return sorted(tuple(row) for row in found)


@pytest.fixture
def small(spark: SparkSession, settings: Settings, request: pytest.FixtureRequest) -> Small:
    name = request.node.name.removeprefix("test_")[:40]
    return Small(spark, Ledger(settings).catalog, f"small.{name}")


def test_what_a_file_has_lost_before_stays_lost(small: Small) -> None:
    assert small.commit(small.delta([1], []), "first")
    small.publish("first")
    assert small.commit(small.delta([2, 4], [(4, "e"), (5, "f")]), "second")
    assert small.rows("second") == [(3, "c"), (4, "e"), (5, "f")]
    assert small.rows("main") == FIRST[1:]
    metadata = load_metadata(small.catalog, small.name)
    added = metadata and metadata.snapshot_by_name("second")
    assert added
    assert added.summary
    told = added.summary.additional_properties
    assert [told[name] for name in ("by", "total-records", "total-data-files")] == ["us", "6", "2"]


def test_a_branch_starts_where_the_change_was_built(small: Small) -> None:
    delta = small.delta([2], [(2, "z")])
    small.rewrite()
    assert small.commit(delta, "work")
    assert small.rows("work") == [(1, "a"), (2, "z"), *FIRST[2:]]
    metadata = load_metadata(small.catalog, small.name)
    staged = metadata and metadata.snapshot_by_name("work")
    assert staged
    assert staged.parent_snapshot_id == delta.base


def test_places_of_files_that_the_base_lacks_are_left_to_a_scan(small: Small) -> None:
    old = small.delta([2], [])
    small.rewrite()
    new = small.delta([2], [])
    assert not small.commit(RowDelta(old.base, new.places, new.rows), "work")
    assert "work" not in refs(small.catalog, small.name)


@pytest.mark.further
def test_a_table_that_somebody_has_partitioned_follows_the_source(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign = begin(spark, settings, tmp_path, "partitioned")
    for table in ("cash", "giro"):
        name = full_name(f"silver_partitioned.public__{table}")
        spark.sql(f"ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)")
    for _ in range(2):
        campaign.bank.transfer(3)
        campaign.finish()
