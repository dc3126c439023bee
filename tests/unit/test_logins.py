"""Which login reads a source's database, and which one writes signals into it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from infra.home import StackHome
from infra.sources import Database, Engine
from infra.state import StackState
from lakehouse.config import Settings, SourceConfig, parse_source
from lakehouse.errors import ConfigError
from lakehouse.inspection.addresses import database_of, signals_of

ROOT = Path(__file__).resolve().parents[2]


def login(user: str) -> Database:
    return Database(Engine.MYSQL, 3306, user, "p4ss", "shop")


@pytest.fixture
def source() -> SourceConfig:
    return parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    kinds = {kind: {"shop": login(kind)} for kind in ("sources", "readers", "signals")}
    StackState(**kinds).write(StackHome(tmp_path))
    return Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("given", "users"),
    [
        ((), ("readers", "signals")),
        (("LAKEHOUSE_DATABASE",), ("LAKEHOUSE_DATABASE", "LAKEHOUSE_DATABASE")),
        (("LAKEHOUSE_SIGNALS",), ("readers", "LAKEHOUSE_SIGNALS")),
        (
            ("LAKEHOUSE_DATABASE", "LAKEHOUSE_SIGNALS"),
            ("LAKEHOUSE_DATABASE", "LAKEHOUSE_SIGNALS"),
        ),
    ],
)
def test_the_narrowest_login_that_is_said_is_taken(
    source: SourceConfig, settings: Settings, given: tuple[str, ...], users: tuple[str, str]
) -> None:
    variables = {name: json.dumps(asdict(login(name))) for name in given}
    found = (database_of(source, settings, variables), signals_of(source, settings, variables))
    assert tuple(each.user for each in found if each) == users


def test_a_login_for_signals_that_cannot_be_read_is_not_shown(
    source: SourceConfig, settings: Settings
) -> None:
    with pytest.raises(ConfigError, match="LAKEHOUSE_SIGNALS: KeyError") as refused:
        signals_of(source, settings, {"LAKEHOUSE_SIGNALS": '{"password": "p4ss"}'})
    assert "p4ss" not in str(refused.value)


def test_the_rights_of_the_local_stack_are_those_that_the_page_tells() -> None:
    page = (ROOT / "docs" / "grants.md").read_text(encoding="utf-8")
    made = (ROOT / "infra" / "provisioning.py").read_text(encoding="utf-8")
    joined = re.sub(r'"\s*\n\s*f?"', "", made)
    # The stack has no servers of those that follow.
    mine, _, _ = page.partition("## Oracle, SQL Server, Db2, TiDB")
    assert mine != page
    told = set(re.findall(r"GRANT ([A-Z, ]+?) ON ", mine))
    owner_only = {"ALL PRIVILEGES"}
    assert set(re.findall(r"GRANT ([A-Z, ]+?) ON ", joined)) - owner_only == told
