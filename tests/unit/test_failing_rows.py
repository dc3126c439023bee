"""Rows for which expectations fail: which statements look for them, and what is kept of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
import sqlglot

from expectations import SUITES
from lakehouse.config.rules import OwnRule
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.records import ResultRow
from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.quality.measuring.failing_rows import FailingRows, failing_messages
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.samples import FailingRow, samples_json, schema_change_samples
from lakehouse.quality.measuring.silver_rows import SilverRows
from lakehouse.quality.measuring.staged import Target
from lakehouse.quality.reports.run_report import recorded_findings
from lakehouse.quality.schemas.ddl import SchemaEvent, SchemaMessage, parse_event
from lakehouse.spark.sql import messages_query

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = ("shop.public.it's", 0, 17)
# What no single row decides.
OF_TABLES = {
    "row_count",
    "changed_rows",
    "unresolved_placeholders",
    "lossy_columns",
    "hours_behind",
    # Only where a table has references.
    "dangling_references",
}
OF_PARTITIONS = {
    "messages",
    "missing_offsets",
    "skipped_offsets",
    "deletes_without_tombstone",
    "hours_behind",
}


def rows_of(*key: str, rules: tuple[OwnRule, ...] = ()) -> FailingRows:
    table = StagedTable(
        identity=(None, "public", "orders"), silver="silver_shop.public__orders", state="",
        changed=True, snapshot=1, state_snapshot=None, key=key, cdc="_cdc", rows=1, upserts=1,
        deletes=0, truncated=False, required=("name",),
    )  # fmt: skip
    target = Target(table, {("t", 0): 5}, {("t", 0): 9}, before=1, rules=rules)
    return FailingRows(SilverRows(target, {"id": "int", "name": "string"}, full=False))


def test_rows_are_looked_for_by_every_rule_of_silver_that_a_row_decides() -> None:
    metrics = {rule.columns[0] for rule in SUITES["silver"].rules}
    found = {metric: rows_of("id", "name").of(metric) for metric in metrics}

    assert {metric for metric, text in found.items() if text is None} == OF_TABLES
    for text in filter(None, found.values()):
        sqlglot.parse_one(text, dialect="spark")
        assert text.endswith(" LIMIT 20")
        assert "bronze" not in text


def test_messages_are_looked_for_by_every_rule_of_bronze_that_a_message_decides() -> None:
    place = OffsetRange("t", 0, 5, 9, "id")
    landed = LandedRanges((place,), ("run",), NOW)
    metrics = {rule.columns[0] for rule in SUITES["bronze"].rules}
    found = {each: failing_messages("shop", landed, place, each) for each in metrics}

    assert {metric for metric, text in found.items() if text is None} == OF_PARTITIONS
    for text in filter(None, found.values()):
        sqlglot.parse_one(text, dialect="spark")
        assert text.startswith("SELECT '' key,")


def test_rows_are_looked_for_by_the_rules_of_a_person_that_a_row_breaks() -> None:
    rules = (
        OwnRule(name="bad", description="A.", violated="id < 0"),
        OwnRule(name="twice", description="A.", unique=("name",)),
        OwnRule(name="many", description="A.", rows=True, at_least=3),
        OwnRule(name="enough", description="A.", violated="id > 0", at_least=3),
    )
    found = {rule.name: rows_of("id", rules=rules).of(f"rule_{rule.name}") for rule in rules}

    assert {name for name, text in found.items() if text is None} == {"many", "enough"}
    for text in filter(None, found.values()):
        sqlglot.parse_one(text, dialect="spark")
    assert "GROUP BY `name` HAVING count(*) > 1" in (found["twice"] or "")


def test_a_table_without_a_key_shows_where_messages_stand() -> None:
    text = rows_of().of("missing_positions")

    assert text is not None
    assert text.startswith("SELECT '' key, array(")
    assert rows_of().of("duplicate_keys") is None


def test_a_query_shows_a_keys_messages_by_their_places_alone() -> None:
    text = messages_query("shop", [PLACE, ("shop.public.it's", 0, 3), ("t", 1, 4)])

    sqlglot.parse_one(text, dialect="spark")
    assert "topic = 'shop.public.it\\'s' AND partition = 0 AND offset IN (3, 17)" in text
    assert "topic = 't' AND partition = 1 AND offset IN (4)" in text
    assert text.startswith("SELECT topic, partition, offset, timestamp, string(key), string(value)")


def test_what_is_recorded_is_what_the_report_shows() -> None:
    rows = (FailingRow('{"id":1}', (PLACE,)), FailingRow("", ()))
    recorded = ResultRow(
        "shop", "run", NOW, "silver", "t", "1", "no_null_keys", "", "critical", False, "{}", "0",
        NOW, samples_json(rows),
    )  # fmt: skip

    (finding,) = recorded_findings([recorded])

    assert [(sample.key, sample.messages) for sample in finding.samples] == [
        ('{"id":1}', (PLACE,)),
        ("", ()),
    ]
    assert finding.samples[0].query == messages_query("shop", [PLACE])
    assert finding.samples[1].query == ""
    assert samples_json(()) == ""


def event(document: str, partition: int = 0) -> SchemaEvent:
    return parse_event(SchemaMessage("shop", partition, 8, None, document), "mysql")


MERGED = json.dumps(
    {
        "source": {},
        "databaseName": "shop",
        "ddl": "",
        "tableChanges": [
            {
                "type": "MERGE",
                "id": '"shop"."t"',
                "table": {"primaryKeyColumnNames": ["gone"], "columns": []},
            }
        ],
    }
)


@pytest.mark.parametrize(
    ("events", "rules"),
    [
        ([event("no json")], {"no_malformed_records"}),
        ([event("{}", 1)], {"no_malformed_records", "no_messages_in_other_partitions"}),
        ([event(MERGED)], {"no_unknown_change_types", "no_unknown_key_columns"}),
    ],
)
def test_schema_change_events_that_fail_are_named(
    events: list[SchemaEvent], rules: set[str]
) -> None:
    found = schema_change_samples(events * 30)

    assert {rule for _, rule in found} == rules
    assert all(len(rows) == 20 for rows in found.values())
    assert {row.messages for rows in found.values() for row in rows} == {
        (("shop", events[0].message.partition, 8),)
    }
