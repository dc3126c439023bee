"""What surrounds a command and is wrong is told in one sentence, without a secret."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from infra.connect_api import ConnectorStatus
from lakehouse.cli import app
from lakehouse.config import Settings, load_source
from lakehouse.config.home import make_private
from lakehouse.errors import ConfigError, LakehouseError, StepFailed
from lakehouse.plan.remaking.erasing import key_values
from lakehouse.spark.landing.kafka_admin import Admin
from lakehouse.spark.opening import open_catalog

SECRET = "canary-77"
KAFKA = {"bootstrap.servers": "127.0.0.1:1", "sasl.password": SECRET}
TOML = 'connector = "mysql"\ntopic_prefix = "shop"\n'


def said_by(error: type[LakehouseError], work: Callable[[], object]) -> str:
    with pytest.raises(error) as told:
        work()
    assert SECRET not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"sasl.pasword": SECRET}, 'No such configuration property: "sasl.pasword"'),
        ({"security.protocol": "SSLL"}, 'Invalid value "SSLL" for configuration property'),
    ],
)
def test_a_property_that_kafkas_client_does_not_know_is_named(
    wrong: dict[str, str], told: str
) -> None:
    assert told in said_by(ConfigError, lambda: Admin({**KAFKA, **wrong}))


def test_a_catalog_that_does_not_answer_is_told(tmp_path: Path) -> None:
    uri = f"postgresql://lake:{SECRET}@127.0.0.1:1/lake"
    settings = Settings.from_environment(
        {"LAKEHOUSE_HOME": str(tmp_path), "LAKEHOUSE_CATALOG_URI": uri}
    )
    text = said_by(StepFailed, lambda: open_catalog(settings))
    assert "Connection refused" in text
    assert "LAKEHOUSE_CATALOG_URI" in text


def test_a_home_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    home = tmp_path / "file" / "home"
    assert "Not a directory" in said_by(ConfigError, lambda: make_private(home))


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(TOML, encoding="utf-8-sig")
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})
    assert load_source("shop", settings).topic_prefix == "shop"
    assert "write" not in said_by(ConfigError, lambda: load_source("../shop", settings))


@pytest.mark.parametrize("text", ["yesterday", "2026-01-31", "2026-01-31T08:00:00"])
def test_a_time_is_asked_for_by_an_example(text: str) -> None:
    ended = CliRunner().invoke(app, ["run", "--source", "shop", "--from", text])
    assert ended.exit_code == 2
    assert "2026-01-31T08:00:00Z" in ended.output


def test_a_table_without_a_key_has_no_key_to_erase() -> None:
    assert "has no key" in said_by(ConfigError, lambda: key_values('{"a": 1}', ()))


def test_what_caused_a_connectors_failure_is_told_with_it() -> None:
    trace = "Send failed\n\tat a.B.c(B.java:1)\nCaused by: TooLarge: 22 MB\n\t... 3 more"
    assert ConnectorStatus("c", "RUNNING", ("FAILED",), trace).reason == (
        "Send failed, caused by TooLarge: 22 MB"
    )
    assert ConnectorStatus("c", "RUNNING", ("FAILED",), "alone").reason == "alone"
    assert not ConnectorStatus("c", "RUNNING", ("RUNNING",), "").reason
