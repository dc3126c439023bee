"""Configurations that a Dag refuses: what would be called, or taken for a table's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dags.conftest import airflow_environment, printed_by


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("refusals")


@pytest.fixture(scope="module")
def found(home):
    """What the functions gave or said, by their configuration."""
    variables = {**airflow_environment(home), "TOLD": str(home / "told.jsonl")}
    return printed_by("refusals.py", str(home / "made"), env=variables)


def test_a_backfill_is_narrowed_to_the_tables_of_a_list(found):
    assert found["backfills"]["none"] == found["backfills"]["empty"] == []
    assert found["backfills"]["list"] == ["--table=public.orders", "--table=-x"]


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("text", "'public.orders'"),
        ("number", "7"),
        ("numbers", "['public.orders', 7]"),
        ("object", "{'public.orders': True}"),
        ("null", "None"),
    ],
)
def test_a_backfill_s_tables_that_are_no_list_of_text_are_refused(found, case, value):
    assert found["backfills"][case] == (
        f"backfill: tables: {value}: expected a list of names as the TOML file has them, "
        'such as {"tables": ["public.orders"]}; start the backfill again'
    )


def test_a_backfill_that_is_told_something_else_is_refused(found):
    # It would otherwise make all tables again.
    assert found["backfills"]["other"] == (
        "backfill: table: expected nothing but tables, such as "
        '{"tables": ["public.orders"]}; start the backfill again'
    )


@pytest.mark.parametrize(
    "notifier",
    ["subprocess.check_call", "subprocess.Popen", "pathlib.Path", "subprocess.no_such"],
)
def test_what_is_no_notifier_of_airflow_is_not_called(found, home, notifier):
    said = found["notifiers"][notifier]
    assert all(f"alerts.notifier: {notifier!r}: expected a class made from" in one for one in said)
    assert "nobody was told: ingest_shop: land failed in run run_1" in said[0]
    assert "nobody was told: ingest_shop: run run_2 has not published 30m after" in said[1]
    assert not (home / "made").exists()


def test_a_notifier_of_airflow_is_called(found, home):
    assert found["notifiers"]["tests.dags.told.Told"] == [None, None]
    assert len((home / "told.jsonl").read_text().splitlines()) == 2
