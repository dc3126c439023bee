"""A failover in tests: a source of MySQL whose log goes on in that of another server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.epochs import Epoch, epochs_from_json
from lakehouse.steps.context import StepOutcome
from tests.support.binlog import MySql, create, delete, update
from tests.support.runs import Runs

OTHER = "9f2c11aa-71ca-11e1-9e33-c80aa9429562:"
ROW = ("id", "name", "_cdc.epoch", "_cdc.position")


def open_source(
    spark: SparkSession, settings: Settings, folder: Path, name: str, more: str = ""
) -> Runs:
    """A source of MySQL; `more` is added to its TOML file."""
    text = f'connector = "mysql"\ntopic_prefix = "{name}"\n{more}'
    return Runs(spark, settings, folder, parse_source(text, name))


def epochs(runs: Runs) -> tuple[Epoch, ...]:
    cut = runs.ledger.newest_cut(runs.source.name)
    assert cut is not None
    return epochs_from_json(cut.epochs)


def findings(outcomes: Mapping[str, StepOutcome]) -> list[str]:
    found = outcomes["apply"].detail["findings"]
    assert isinstance(found, list)
    return [str(each) for each in found]


def life(server: MySql, step: Callable[[], object]) -> None:
    """A row that changes on two servers; `step` follows each transaction."""
    server.commit(create(1, "a"), create(2, "b"))
    step()
    server.commit(update(1, "c"), delete(2))
    step()
    server.fail_over(OTHER, file=2)
    server.commit(update(1, "d"), create(2, "e"))
    step()
    server.commit(update(2, "f"), create(3, "g"))
    step()


EXPECTED = [(1, "d", 1), (2, "f", 1), (3, "g", 1)]
