"""Silver equals the real databases, from an archive of their topics and no server.

Each source's topics are written as a topic archive at one moment; land, check, apply, validate and
publish then work from it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.demo.compare import compare_source
from infra.demo.workload import PHASES, load_phase
from infra.sources import SAMPLE_SOURCES, Database
from infra.stack import running_stack
from lakehouse.config import Settings, SourceConfig
from lakehouse.plan.records import STEPS
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.archive import archive
from lakehouse.steps.runner import execute
from tests.stack.conftest import Stack, settings_of
from tests.support.commands import lakehouse
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

# Every operation, several changes of one key in one transaction, a changed key, columns added with
# and without a default, one of them NOT NULL; the other sources have the demonstration's workload.
WAREHOUSE = (
    (
        "INSERT INTO sites VALUES (91, 'TKU-01', 'Turku', '1000-01-01', NULL, -1.5)",
        "UPDATE sites SET city = 'Åbo' WHERE id = 91",
        "UPDATE sites SET code = 'ABO-01' WHERE id = 91",
    ),
    ("UPDATE articles SET manual = repeat('long ', 3000) WHERE id <= 3",),
    ("UPDATE articles SET name = 'renamed' WHERE id <= 3", "DELETE FROM movements WHERE id <= 20"),
    ("ALTER TABLE articles ADD COLUMN colour varchar(20) NOT NULL DEFAULT 'grey'",),
    ("ALTER TABLE articles ADD COLUMN checked_on date NULL",),
    (
        "ALTER TABLE articles ADD COLUMN origin enum('home', 'abroad') NOT NULL",
        "ALTER TABLE articles ADD weight decimal(6, 2) NOT NULL, ADD fragile bool NOT NULL",
        "ALTER TABLE articles ADD COLUMN seal varchar(9) NOT NULL",
    ),
    ("UPDATE articles SET colour = 'red', checked_on = '2026-02-28' WHERE id = 5",),
    (
        "UPDATE movements SET id = 100000 WHERE id = 30",
        "UPDATE movements SET took = '-01:02:03.5' WHERE id = 100000",
    ),
    (
        "DELETE FROM movements WHERE id BETWEEN 100 AND 110",
        "INSERT INTO movements VALUES (105, 1, 1, 'A-01', 7, 'loss', '2026-01-01', NULL, NULL)",
    ),
    (
        "UPDATE sites SET city = 'Turku' WHERE id = 91",
        "UPDATE sites SET city = 'Åbo' WHERE id = 91",
        "UPDATE sites SET city = 'Turku' WHERE id = 91",
    ),
    ("TRUNCATE TABLE stock",),
    ("INSERT INTO stock VALUES (1, 'A-01', 1, 2.125, '2001-01-01 00:00:01')",),
)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack of its own: the workload counts on the sample rows as they are."""
    settings = settings_of(tmp_path_factory.mktemp("silver"))
    sources = tuple(SAMPLE_SOURCES) if EVERY_CASE else ("warehouse",)
    with running_stack(settings, sources=sources, airflow=False):
        yield Stack(settings)


def change(stack: Stack, name: str) -> None:
    """Change the source's rows, and wait until all is in Kafka."""
    barrier = stack.barrier(name)
    if name == "warehouse":
        for statements in WAREHOUSE:
            stack.run(name, *statements)
    else:
        for phase in PHASES:
            for transaction in load_phase(name, phase):
                stack.run(name, transaction.sql.rstrip().removesuffix(";"))
    barrier.pass_one()


def assert_equal(source: SourceConfig, database: Database, ledger: Ledger) -> None:
    """Compare each table of the published cut with the database, value by value."""
    cut = ledger.newest_cut(source.name)
    rows = compare_source(source, database, ledger.catalog, cut)
    assert rows
    assert [(row.table, row.examples) for row in rows if not row.is_equal] == []
    assert all(row.source_rows == row.silver_rows for row in rows)


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(each, marks=pytest.mark.further) for each in ("inventory", "shop")),
        "warehouse",
    ],
)
def test_silver_equals_the_database(spark, settings: Settings, stack: Stack, tmp_path, name: str):
    change(stack, name)
    if name == "warehouse":
        given = ("--source", name, str(tmp_path), "--from", "kafka")
        lakehouse(stack.settings, "archive", *given)
    else:
        archive(spark, stack.source(name), stack.settings, "kafka", tmp_path)
    # Bronze of this test run has the source itself, landed from the topics of another stack.
    source = stack.source(name).model_copy(update={"name": f"{name}_archived"})
    runs = Runs(spark, settings, tmp_path, source)
    context = runs.context(tmp_path, "archived")
    outcomes = {step: execute(step, context) for step in STEPS}
    assert {step: outcome.status for step, outcome in outcomes.items()} == dict.fromkeys(
        STEPS, "succeeded"
    ), outcomes
    assert laws_hold(outcomes["apply"])
    assert_equal(source, stack.database(name), context.ledger)

    context = runs.context(tmp_path, "again")
    again = {step: execute(step, context) for step in STEPS}
    assert again["land"].counts["messages"] == 0
    assert again["publish"].status == "succeeded"
    assert_equal(source, stack.database(name), context.ledger)
