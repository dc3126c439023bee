"""`lakehouse signal`: what it refuses before anything is sent, and how it passes a signal on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.config import parse_source
from lakehouse.errors import ConfigError, NotYet, SignalRefused
from lakehouse.names import parse_table
from lakehouse.plan.signals.conditions import parse_condition
from lakehouse.plan.signals.followed import Asked
from lakehouse.plan.signals.handover import Handover
from lakehouse.plan.signals.record import Signal
from lakehouse.plan.signals.request import Action, Request
from lakehouse.plan.signals.statement import insert_statement, insert_with_parameters
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.signalling.seen import check_seen
from tests.unit.test_quality_versions import ID, QTY, recorded, version

SIGNAL = Signal("s-1", "execute-snapshot", '{"type": "incremental", "x": "it\'s \\\\ 5%"}')
HANDOVER = Handover(
    Asked(Action.SNAPSHOT, "s-1", collections=("public.orders",)),
    ("public.orders",),
    "notifications.shop",
    {0: 17},
)


def run(home: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str):
    sources = home / "sources"
    sources.mkdir(exist_ok=True)
    (sources / "shop.toml").write_text('connector = "postgresql"\ntopic_prefix = "shop"\n')
    monkeypatch.setenv("LAKEHOUSE_HOME", str(home))
    monkeypatch.setenv("LAKEHOUSE_SOURCES", str(sources))
    for name in ("LAKEHOUSE_CONNECT", "LAKEHOUSE_KAFKA"):
        monkeypatch.delenv(name, raising=False)
    return CliRunner().invoke(app, ["signal", "--source", "shop", *arguments])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("snapshot", "--table", "orders", "--no-follow"), "expected <schema>.<table>"),
        (("snapshot", "--table", "a.b", "--where", "x ~ 1", "--no-follow"), "expected column"),
        (("pause", "--no-follow"), "LAKEHOUSE_CONNECT"),
        (("stop",), "no catalog"),
        (("follow", "{}"), "expected the line of JSON"),
    ],
)
def test_what_cannot_be_sent_says_what_was_expected(tmp_path, monkeypatch, arguments, words: str):
    found = run(tmp_path, monkeypatch, *arguments)
    assert found.exit_code != 0
    assert words in str(found.exception)


@pytest.mark.parametrize("group", ["signal", "key"])
def test_what_a_command_takes_can_be_asked_without_a_source(group: str):
    command = {"signal": "snapshot", "key": "drain"}[group]
    told = CliRunner().invoke(app, [group, command, "--help"])
    missing = CliRunner().invoke(app, [group, command, "--table", "a.b"])
    assert (told.exit_code, missing.exit_code) == (0, 2)
    assert "--table" in told.output
    assert "--source" in missing.output


def test_columns_that_no_message_has_are_refused_and_tables_are_told():
    source = parse_source('connector = "postgresql"\ntopic_prefix = "shop"', "shop")
    rows = list(recorded(*judge_versions((version(1, ID, QTY),), (), source.schema_changes)))

    def checked(table: str, where: str, key: str | None = None) -> tuple[str, ...]:
        conditions = (parse_condition(where, "postgresql"),)
        tables = (parse_table("public.orders", "postgresql"), parse_table(table, "postgresql"))
        asked = Request(Action.SNAPSHOT, tables, conditions=conditions, surrogate_key=key)
        return check_seen(asked, source, rows)

    assert checked("public.orders", "ID > 1", "qty") == ()
    assert checked("public.orders", "public.other.nope > 1") == ()
    (told,) = checked("public.other", "public.orders.qty > 1")
    assert "table 'public.other': no message has come of it yet" in told
    for where, key in (("nope = 1", None), ("public.orders.nope = 1", None), ("id = 1", "nope")):
        with pytest.raises(SignalRefused, match=r"column .nope.: expected one .* id, qty; if it"):
            checked("public.orders", where, key)
    rows.clear()
    assert checked("public.other", "nope = 1") == (), "nothing has landed yet"


def test_before_the_first_run_what_is_followed_goes_on(tmp_path, monkeypatch):
    extra = '{"extra": {"bootstrap.servers": "127.0.0.1:9"}}'
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_SHOP", extra)
    found = run(tmp_path, monkeypatch, "follow", HANDOVER.to_json())
    assert isinstance(found.exception, NotYet)
    assert "no catalog at" in str(found.exception)


def test_a_signal_that_was_sent_is_followed_by_one_line():
    text = HANDOVER.to_json()
    assert "\n" not in text
    assert Handover.from_json(text) == HANDOVER


@pytest.mark.parametrize("text", ["", "[]", "null", '{"action": "fly"}', HANDOVER.to_json()[:-9]])
def test_another_line_is_refused(text: str):
    with pytest.raises(ConfigError, match="expected the line of JSON"):
        Handover.from_json(text)


@pytest.mark.parametrize(
    ("connector", "expected"),
    [
        ("postgresql", 'INSERT INTO "a%%b"."s" (id, type, data) VALUES (%s, %s, %s)'),
        ("mysql", "INSERT INTO `a%%b`.`s` (id, type, data) VALUES (%s, %s, %s)"),
    ],
)
def test_values_go_to_the_driver_as_parameters(connector: str, expected: str):
    assert insert_with_parameters(("a%b", "s"), connector) == expected


@pytest.mark.parametrize(
    ("connector", "table", "start"),
    [
        ("db2", ("CDC", "SIGNAL"), 'INSERT INTO "CDC"."SIGNAL" (id, type, data) VALUES (\'s-1\','),
        ("oracle", ("PDB", "CDC", "SIGNAL"), 'INSERT INTO "CDC"."SIGNAL" (id, type, data)'),
        ("sqlserver", ("Shop", "dbo", "signal"), "INSERT INTO [Shop].[dbo].[signal] (id, type, da"),
    ],
)
def test_where_a_person_runs_the_statement_it_is_whole(connector: str, table, start: str):
    found = insert_statement(table, connector, SIGNAL)
    assert found.startswith(start)
    assert "it''s" in found
    assert "%s" not in found
    data = found[found.index("{") : found.rindex("}") + 1].replace("''", "'")
    assert json.loads(data) == json.loads(SIGNAL.data)


def test_the_message_of_the_signal_topic_holds_the_data_as_an_object():
    assert json.loads(replace(SIGNAL, data='{"a": 1}').message)["data"] == {"a": 1}
