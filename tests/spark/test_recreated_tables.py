"""A table that is dropped and created again: nothing is merged across, nothing is lost."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.names import silver_namespace
from lakehouse.spark.tables import full_name
from tests.support.archives import read_archive, write_archive
from tests.support.captures import Capture, expected_rows, stored_rows
from tests.support.runs import Runs, laws_hold

TABLE = "TESTDB.DB2INST1.ACCT"
OLD_ROWS = [(1, "a"), (2, "b")]


@pytest.mark.parametrize("cuts", [pytest.param((), marks=pytest.mark.further), (4, 8)])
def test_each_incarnation_ends_in_a_table_of_its_own(spark, settings, captures, tmp_path, cuts):
    capture = Capture("db2", captures / "db2" / "ddl_drop_recreate_rename")
    source = parse_source(capture.toml, f"recreated_{'_'.join(map(str, cuts))}")
    runs = Runs(spark, settings, tmp_path, source)
    messages = read_archive(capture.folder)
    messages.sort(key=lambda message: (message.timestamp_ms, message.offset))

    for count in (*cuts, len(messages)):
        outcomes = runs.steps(write_archive(tmp_path / f"first_{count}", messages[:count]))
        assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
        assert laws_hold(outcomes["apply"])

    namespace = silver_namespace(source.name)
    names = {row.tableName for row in spark.sql(f"SHOW TABLES IN lakehouse.{namespace}").collect()}
    assert names == {
        name + ending
        for name in ("db2inst1__acct", "db2inst1__acct__retired_1")
        for ending in ("", "__state")
    }
    expected = capture.expected["tables"][TABLE]
    found = spark.table(full_name(f"{namespace}.db2inst1__acct"))
    assert stored_rows(found.toArrow(), {}, expected) == expected_rows(expected)
    retired = spark.table(full_name(f"{namespace}.db2inst1__acct__retired_1"))
    assert sorted(tuple(row) for row in retired.select("ID", "V").collect()) == OLD_ROWS
