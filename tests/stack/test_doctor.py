"""`lakehouse doctor` on the running stack: nothing, until a setting breaks a promise."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from infra.clients import query, run_sql
from infra.sources import SAMPLE_SOURCES
from infra.stack import up
from lakehouse.cli import app
from lakehouse.inspection.examine import examine
from tests.stack.conftest import REPOSITORY, Stack

_NULLS = "value.converter.replace.null.with.default"


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_nothing_breaks_a_promise_in_the_stack_as_it_is_set_up(stack: Stack, name: str):
    found = examine(stack.source(name), stack.settings)
    assert found.unseen == ()
    assert found.looked_at[-2:] == ("topics", "database")
    broken = [finding for finding in found.findings if finding.level == "breaks a promise"]
    # The sample tables have foreign keys that cascade, and tables without a key on purpose.
    assert {finding.what for finding in broken} <= {"foreign key", "replica identity"}


def test_who_may_only_read_mariadb_sees_its_keys(stack: Stack):
    found = examine(stack.source("warehouse"), stack.settings).findings
    assert [finding for finding in found if finding.what == "primary key"] == []


def test_a_setting_that_breaks_a_promise_is_named_by_the_command(stack: Stack, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_HOME", str(stack.settings.home))
    monkeypatch.setenv("LAKEHOUSE_SOURCES", str(REPOSITORY / "dags" / "sources"))
    # A new configuration restarts the connector: never in the middle of its source snapshot.
    stack.barrier("inventory")
    [name] = [one for one in stack.connect.connectors() if "inventory" in one]
    before = stack.connect.config(name)
    stack.connect.register(name, before | {_NULLS: "true"})
    try:
        result = CliRunner().invoke(app, ["doctor", "--source", "inventory", "--json"])
    finally:
        up(stack.settings, airflow=False)
    stack.barrier("inventory")
    assert stack.connect.config(name) == before
    assert result.exit_code == 2
    found = {finding["what"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert (found[_NULLS]["value"], found[_NULLS]["level"]) == ("'true'", "breaks a promise")


def test_a_replica_identity_that_names_no_row_is_found(stack: Stack):
    database = stack.database("inventory")
    run_sql(
        database,
        "CREATE TABLE public.doctored (id int PRIMARY KEY)",
        "ALTER TABLE public.doctored REPLICA IDENTITY NOTHING",
    )
    try:
        found = examine(stack.source("inventory"), stack.settings).findings
    finally:
        run_sql(database, "DROP TABLE public.doctored")
    mine = [finding for finding in found if finding.subject == "table public.doctored"]
    assert "replica identity" in {finding.what for finding in mine}
    assert query(database, "SELECT to_regclass('public.doctored')") == [(None,)]
