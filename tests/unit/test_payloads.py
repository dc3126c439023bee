"""Texts that would act stay text, or are refused, wherever a name, value or argument comes in.

The same texts go through the steps in `tests/spark/test_payloads.py`, and stand in pages in
`tests/browser`.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlglot
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.config import Settings, load_source, parse_source
from lakehouse.config.loading import load_sources
from lakehouse.errors import ArchiveError, ConfigError, SignalRefused
from lakehouse.names import TableIdentity, format_table, parse_table, quote_ident, silver_name
from lakehouse.plan.signals.conditions import Condition, Kind, Value, parse_condition
from lakehouse.plan.submission import approval
from lakehouse.plan.topics.archive import archive_files
from lakehouse.plan.topics.archive_line import line_fault
from tests.support.payloads import KINDS, PAYLOADS
from tests.unit.test_signal_conditions import DIALECTS

# A source may be called so: `silver_select` is a name as any.
PLAIN = ("select",)
PAYROLL = 'connector = "postgresql"\ntopic_prefix = "payroll"\n'


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    """A home whose neighbours would be changed by what leaves it."""
    sources = tmp_path / "below" / "sources"
    sources.mkdir(parents=True)
    (sources / "payroll.toml").write_text(PAYROLL)
    return Settings.from_environment(
        {"LAKEHOUSE_HOME": str(tmp_path / "below" / "home"), "LAKEHOUSE_SOURCES": str(sources)}
    )


def test_there_are_enough_of_each_kind(figure: Callable[[str], None]) -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60
    counts = ", ".join(f"{len(texts)} {kind}" for kind, texts in KINDS.items())
    figure(f"injection payloads: {len(PAYLOADS)} ({counts}), each harmless in every way in")


def test_each_is_one_identifier_of_spark() -> None:
    for text in PAYLOADS:
        parsed = sqlglot.parse_one(f"SELECT {quote_ident(text)}", dialect="spark")
        [column] = parsed.find_all(sqlglot.exp.Column)
        assert (len(parsed.expressions), column.name) == (1, text)


@pytest.mark.parametrize("connector", DIALECTS)
def test_each_is_a_table_of_one_plain_name_that_can_be_written_and_read(connector: str) -> None:
    names = set()
    for text in PAYLOADS:
        table = TableIdentity("db", "public", text)
        name = silver_name(table, connector)
        assert set(name) <= set(string.ascii_lowercase + string.digits + "_")
        assert len(name) < 220
        names.add(name)
        again = parse_table(format_table(table, connector), connector)
        assert again.parts(connector) == table.parts(connector)
    assert len(names) == len(PAYLOADS)


@pytest.mark.parametrize("connector", DIALECTS)
def test_each_is_one_name_and_one_text_of_a_condition_or_refused(connector: str) -> None:
    refused = 0
    for text in PAYLOADS:
        condition = Condition(text, "=", (Value(Kind.TEXT, text),))
        try:
            sql = condition.sql(connector)
        except SignalRefused:
            refused += 1
            continue
        parsed = sqlglot.parse(f"SELECT 1 FROM t WHERE {sql}", dialect=DIALECTS[connector])
        [comparison] = parsed[0].find_all(sqlglot.exp.EQ)
        assert len(parsed) == 1, text
        assert comparison.left.name == text
    # NUL in all of them, a quoted name in Oracle.
    assert refused < 20


def test_none_is_a_condition() -> None:
    for text in PAYLOADS:
        with pytest.raises(ConfigError, match="expected"):
            parse_condition(text, "postgresql")


def test_each_stays_one_argument_that_is_no_option() -> None:
    for text in PAYLOADS:
        given = approval("payroll", table=text, action="approve", renames=(text,), person=text)
        assert [part.partition("=")[2] for part in given if text in part] == [text] * 3
        assert all(part.startswith("--") for part in given if text in part)


def test_none_names_a_source(home: Settings, tmp_path: Path) -> None:
    (tmp_path / "hacked.toml").write_text(PAYROLL)
    before = sorted(tmp_path.rglob("*"))
    for text in PAYLOADS:
        with pytest.raises(ConfigError):
            load_source(text, home)
        if text not in PLAIN:
            with pytest.raises(ConfigError, match="expected"):
                parse_source(PAYROLL, text)
    assert sorted(tmp_path.rglob("*")) == before


def test_no_command_takes_one_as_its_source_or_table(
    home: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEHOUSE_HOME", str(home.home))
    monkeypatch.setenv("LAKEHOUSE_SOURCES", str(home.sources))
    monkeypatch.chdir(tmp_path)
    for text in PAYLOADS:
        for given in (
            ["tables", f"--source={text}"],
            ["approve", "--source=payroll", f"--table={text}"],
            ["signal", "--source=payroll", "snapshot", f"--table={text}"],
            ["run", "--source=payroll", f"--from-step={text}"],
        ):
            assert CliRunner().invoke(app, given).exit_code != 0, given
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left <= {"payroll.toml", "catalog.db"}


@pytest.mark.parametrize("key", ["contract", "expectations"])
def test_none_names_a_file_that_is_read(home: Settings, tmp_path: Path, key: str) -> None:
    (tmp_path / "hacked").write_text("secret")
    (tmp_path / "below" / "hacked").write_text("secret")
    for text in PAYLOADS:
        table = f'[tables."hr.staff"]\n{key} = {json.dumps(text)}\n'
        (home.sources / "payroll.toml").write_text(PAYROLL + table)
        with pytest.raises(ConfigError) as refused:
            load_sources(home)
        assert "secret" not in str(refused.value)


def test_none_is_a_topic_of_an_archive(tmp_path: Path) -> None:
    for text in PAYLOADS:
        line = json.dumps({"topic": text, "partition": 0, "offset": 0, "timestamp": 0})
        assert "expected 'payroll.hr.staff'" in str(line_fault(line.encode(), "payroll.hr.staff"))
        name = re.sub(r"[/\0]", "", text)
        if re.fullmatch(r"[A-Za-z0-9._-]+", name):
            continue
        with pytest.raises(ArchiveError):
            archive_files(tmp_path, [f"{name}.jsonl"])
