"""Each kind of schema change, made on real databases, is judged as the matrix says.

The changes are made while the connectors run, land once, and step `check` judges them in each mode,
for a source that has seen nothing before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from infra.clients import kafka_admin, run_sql
from infra.sources import SAMPLE_SOURCES, Engine
from lakehouse.config import Settings, SourceConfig
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.names import TableIdentity, bronze_table, silver_name
from lakehouse.plan.records import EVOLVE, HOLD, SchemaVersionRow
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import Json, StepContext
from lakehouse.steps.runner import execute
from tests.stack.conftest import Stack
from tests.stack.schema_statements import PREFIX, LiveChange, live_changes
from tests.support.narrowed import narrowed
from tests.support.sampling import EVERY_CASE
from tests.support.schema_verdicts import MODES, VERDICTS, expected, seen_of

FIRST = "create_table"
# Without approval of its first version no table would have another one.
APPROVALS = tuple(kind for kind in VERDICTS if kind != FIRST)
POLICIES = {mode: SchemaChangesConfig(mode=mode) for mode in MODES} | {
    "approval": SchemaChangesConfig(require_approval=APPROVALS)
}
# What is recorded of a change, the verdict, and whether a held table stops right before it.
Outcome = tuple[set[str], str, bool]
Ends = Mapping[tuple[str, int], int]


def make_changes(stack: Stack, name: str, changes: Mapping[str, LiveChange]) -> Ends:
    """Make all tables with a row, change them, write another row.

    Returns:
        The end offsets of the topics before the changes.
    """
    database, barrier = stack.database(name), stack.barrier(name)
    run_sql(database, *(sql for change in changes.values() for sql in change.before))
    barrier.pass_one()
    topics = [topic for topic in stack.topics() if topic.partition(".")[0] == name]
    ends = kafka_admin(stack.state.kafka).end_offsets(topics)
    for change in changes.values():
        run_sql(database, *change.statements, change.after)
    barrier.pass_one()
    return ends


def land_and_check(
    spark: SparkSession, settings: Settings, source: SourceConfig
) -> Iterator[tuple[str, Mapping[str, Json], list[SchemaVersionRow]]]:
    """Land once, then check in each mode: policy, the step's detail, what it has recorded."""
    ledger, landed = Ledger(settings), bronze_table(source.name)
    for policy, config in POLICIES.items():
        mine = source.model_copy(
            update={"name": f"{source.name}_{policy}", "schema_changes": config}
        )
        context = StepContext(mine, settings, spark, ledger, policy, datetime.now(UTC))
        if policy == "evolve":
            assert execute("land", context).status == "succeeded"
            landed = bronze_table(mine.name)
        else:
            # The same messages, of another source.
            metadata = ledger.catalog.load_table(landed).metadata_location
            ledger.catalog.register_table(bronze_table(mine.name), metadata)
        outcome = execute("check", context)
        assert outcome.status == "succeeded", outcome
        yield policy, outcome.detail, list(ledger.schema_versions(mine.name))


def outcome_of(
    change: LiveChange,
    silver: str,
    detail: Mapping[str, Json],
    rows: list[SchemaVersionRow],
    ends: Ends,
) -> Outcome:
    mine = [row for row in rows if row.source_table.table.startswith(change.table)]
    later = [row for row in mine if row.offset >= ends.get((row.topic, row.partition), 0)]
    kinds = {kind for row in later for kind in row.change_kinds}
    held = detail["held"].get(silver)
    stops_there = not held or all(
        at["offset"] == ends.get((at["topic"], at["partition"]), 0) for at in held["from"]
    )
    return kinds, detail["tables"][silver]["verdict"], stops_there


def wanted(connector: str, kind: str, policy: str) -> Outcome:
    shown, verdicts = expected(connector, kind)
    if policy != "approval":
        return shown, verdicts[policy], True
    return shown, HOLD if shown - {FIRST} else EVOLVE, True


# One whose rows alone tell a change, and one whose statements do.
SAMPLED = list(SAMPLE_SOURCES) if EVERY_CASE else ["inventory", "warehouse"]


@pytest.mark.parametrize("name", SAMPLED)
def test_each_change_of_a_real_database_is_judged_as_the_matrix_says(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    sample = SAMPLE_SOURCES[name]
    source = narrowed(stack.source(name), f"{name}_changes", rf"\w+\.{PREFIX}\w+")
    changes = live_changes(sample.engine)
    assert changes.keys() == VERDICTS.keys()
    ends = make_changes(stack, name, changes)

    schema = sample.captured_schema if sample.engine is Engine.POSTGRESQL else None
    found: dict[tuple[str, str], Outcome] = {}
    for policy, detail, rows in land_and_check(spark, settings, source):
        for kind, change in changes.items():
            table = silver_name(TableIdentity(name, schema, change.table), source.connector)
            kinds, *rest = outcome_of(change, table, detail, rows, ends)
            found[kind, policy] = (seen_of(source.connector, kind, kinds), *rest)
        assert [each for each in detail["unlike"] if PREFIX in each] == []
    unlike = {
        each: (outcome, wanted(source.connector, *each))
        for each, outcome in found.items()
        if outcome != wanted(source.connector, *each)
    }
    assert unlike == {}
