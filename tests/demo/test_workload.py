"""The workload holds every operation that the demonstration claims to show."""

from __future__ import annotations

import re

import pytest

from infra.demo.home import SOURCES, demo_settings, write_sources
from infra.demo.workload import PHASES, load_phase
from lakehouse.config import Settings, load_sources
from tests.dags.conftest import SOURCES as TOML_FILES

OPERATIONS = {
    "create": r"INSERT INTO",
    "update": r"UPDATE \w+ SET|UPDATE \w+\nSET",
    "delete": r"DELETE FROM",
    "key change": r"UPDATE (products|customers) SET id =",
    "part of a key": r"SET line_(number|no) =",
    "truncate": r"TRUNCATE TABLE",
    "column with a constant default": r"ADD COLUMN .* DEFAULT",
    "column without": r"ADD COLUMN (?!.*DEFAULT)",
    "wider column": r"(TYPE|quantity) bigint",
}


def transactions(source):
    return [one for phase in PHASES for one in load_phase(source, phase)]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_source_has_each_operation(source, operation):
    assert any(re.search(OPERATIONS[operation], one.sql) for one in transactions(source))


@pytest.mark.parametrize("source", SOURCES)
def test_one_transaction_changes_several_tables_and_one_changes_a_key_several_times(source):
    tables = [
        set(re.findall(r"(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)", one.sql))
        for one in transactions(source)
    ]
    assert max(map(len, tables)) >= 3
    assert any(one.sql.count("UPDATE orders SET status") >= 3 for one in transactions(source))


@pytest.mark.parametrize("source", SOURCES)
def test_the_workload_has_no_clock_and_no_random_numbers(source):
    for one in transactions(source):
        assert not re.search(r"\b(now|random|rand|uuid|current_\w+)\s*\(", one.sql, re.IGNORECASE)


@pytest.mark.parametrize("source", SOURCES)
def test_every_transaction_says_what_it_is(source):
    for one in transactions(source):
        assert one.title
        assert one.sql.endswith(";")


def test_sources_without_a_clock_start_no_run_this_year_and_differ_in_nothing_else(tmp_path):
    demo = demo_settings(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    write_sources(demo, TOML_FILES, by_the_clock=False)
    resting = load_sources(demo)
    write_sources(demo, TOML_FILES, by_the_clock=True)
    for rests, runs in zip(resting, load_sources(demo), strict=True):
        assert rests.schedule.interval == "0 0 1 1 *"
        assert runs.schedule.interval == "*/5 * * * *"
        assert rests.model_copy(update={"schedule": runs.schedule}) == runs
