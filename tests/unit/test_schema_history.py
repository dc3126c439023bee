"""The connector's schema history: its records read, and compared with the rest of the source."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import pytest

from expectations import SUITES
from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.judgement import Measurement, judge
from lakehouse.quality.schemas.history_records import HistoryMessage, offset_position, parse_history
from lakehouse.quality.schemas.schema_history import Beside, measure_history
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.schema_events import change, column, data_row, event

SHOP = parse_source(
    'connector = "mysql"\ntopic_prefix = "shop"\n[kafka]\nschema_history = "history"\n', "shop"
)
ID, NAME, AGE = column("id", optional=False), column("name", "VARCHAR", length=10), column("age")
FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


def bare(table_change: dict) -> dict:
    """As the history writes it: without members that are null, lists where there are none."""
    table = dict(table_change["table"] or {})
    table["columns"] = [
        {name: value for name, value in each.items() if value is not None} | {"enumValues": []}
        for each in table.get("columns", ())
    ]
    return {**table_change, "table": table if table_change["table"] else None}


def record(offset: int, *changes: dict, **more: object) -> HistoryMessage:
    document = {
        "source": {"server": "shop"},
        "position": {"file": f"binlog.{offset // 10 + 1:06d}", "pos": 10 * offset, "row": 0},
        "ts_ms": 1_700_000_000_000 + offset,
        "databaseName": "shop",
        "tableChanges": [bare(each) for each in changes],
    }
    fields = {"partition": 0, "keyed": False, "document": json.dumps(document, indent=2)}
    return HistoryMessage("history", offset=offset, **(fields | more))


VERSIONS = (
    change("CREATE", ID),
    change("ALTER", ID, NAME),
    change("ALTER", ID, NAME, AGE),
)
OTHER = change("CREATE", ID, table="items")
HISTORY = [record(9, {"type": "DROP", "id": '"shop"."orders"', "table": None})] + [
    record(10 + index, version) for index, version in enumerate((*VERSIONS, OTHER))
]
PUBLIC = [event(index, version) for index, version in enumerate((*VERSIONS, OTHER))]


def recorded(*events, data: Sequence[SchemaVersionRow] = ()) -> tuple[SchemaVersionRow, ...]:
    return (*ddl_rows(SHOP, "run", events, ()), *data)


def measured(
    messages: Sequence[HistoryMessage] = HISTORY,
    versions: Sequence[SchemaVersionRow] = recorded(*PUBLIC, data=[data_row(("id", ""))]),
    *,
    is_whole: bool = True,
    **more: object,
) -> Measurement:
    beside = Beside(SHOP, versions, **({"settings": FOREVER} | more))
    return measure_history(parse_history("history", messages, "mysql", is_whole=is_whole), beside)


def failed(found: Measurement) -> list[str]:
    findings = judge(SUITES["schema_history"], [found]).findings
    return [finding.rule.name for finding in findings if not finding.success]


BAD = {
    "no_messages_in_other_partitions": partial(
        measured, [*HISTORY[:4], record(14, OTHER, partition=1)]
    ),
    "no_malformed_records": partial(measured, [*HISTORY, record(15, document="{")]),
    "no_keyed_records": partial(measured, [*HISTORY[:4], record(14, OTHER, keyed=True)]),
    "no_positions_going_back": partial(
        measured, [*HISTORY, record(15, document=record(3).document)]
    ),
    "no_compaction": partial(measured, settings=FOREVER | {"cleanup.policy": "compact,delete"}),
    "no_retention_limits": partial(measured, settings=FOREVER | {"retention.ms": "604800000"}),
    "no_versions_missing_in_history": partial(
        measured, [each for each in HISTORY if each.offset != 11]
    ),
    "no_versions_missing_in_topic": partial(
        measured, versions=recorded(PUBLIC[0], PUBLIC[2], PUBLIC[3])
    ),
    "no_tables_unlike_topic": partial(
        measured, versions=recorded(*PUBLIC[:3], event(3, change("CREATE", NAME, table="items")))
    ),
    "no_tables_without_history": partial(
        measured, versions=recorded(*PUBLIC, data=[data_row(("id", ""), table="secret")])
    ),
    "no_tables_unlike_events": partial(
        measured, versions=recorded(*PUBLIC, data=[data_row(("id", ""), ("gone", ""))])
    ),
}


def test_a_whole_history_passes() -> None:
    assert failed(measured()) == []


def test_each_rule_has_a_bad_history() -> None:
    assert set(BAD) == {rule.name for rule in SUITES["schema_history"].rules}


@pytest.mark.parametrize("rule", BAD)
def test_a_bad_history_fails_its_rule_and_is_named(rule: str) -> None:
    found = BAD[rule]()
    metric = rule.removeprefix("no_")

    assert failed(found) == [rule]
    assert found.values[metric] == 1
    assert found.notes[metric]


def test_either_topic_may_be_ahead_of_the_other() -> None:
    assert failed(measured(HISTORY[:3])) == []
    assert failed(measured(versions=recorded(*PUBLIC[:2]))) == []


def test_a_history_that_does_not_begin_with_its_first_record_is_not_compared() -> None:
    found = measured(HISTORY[3:], is_whole=False)

    assert failed(found) == []
    assert "tables_without_history" not in found.values


def test_without_a_schema_change_topic_the_history_is_compared_with_the_events_alone() -> None:
    found = measured(versions=[data_row(("id", ""))])

    assert failed(found) == []
    assert "versions_missing_in_topic" not in found.values


def test_a_history_that_tells_the_versions_is_not_compared_with_itself() -> None:
    history = parse_history("history", HISTORY, "mysql", is_whole=True)
    rows = ddl_rows(SHOP, "run", history.events, ())

    found = measured([each for each in HISTORY if each.offset != 11], versions=rows)

    assert {row.topic for row in rows} == {"history"}
    assert "versions_missing_in_history" not in found.values


def test_what_kafka_was_not_asked_is_not_judged() -> None:
    assert "compaction" not in measured(settings={}).values


BROKEN = [None, "", "1", "[]", "{}", '{"source": {}, "position": null}', "[" * 100_000]
BROKEN += ['{"source": {}, "position": {}, "tableChanges": 7}']


@pytest.mark.parametrize("document", BROKEN)
def test_a_broken_record_is_counted_and_never_an_error(document: str | None) -> None:
    assert failed(measured([*HISTORY, record(15, document=document)])) == ["no_malformed_records"]


LSN = "00000000:0000012C:0005"
DB2_LSN = "00000000:00000000:0000000000014000"
ORACLE_TAIL = f".{0:020d}."
# (connector, offset, its position)
OFFSETS = [
    ("mysql", {"file": "b.000012", "pos": 345}, f"{12:010d}.{345:020d}.{0:010d}"),
    ("mysql", {"file": "b.000012", "pos": 345, "row": 1}, f"{12:010d}.{345:020d}.{1:010d}"),
    ("mysql", {"file": "b.000012", "pos": True}, None),
    ("mysql", {"file": None, "pos": 4}, None),
    ("mariadb", {"file": "b.000012", "pos": 345, "event": 2}, f"{12:010d}.{345:020d}"),
    ("oracle", {"scn": "9", "commit_scn": "10:1:0a00"}, f"{10:038d}{ORACLE_TAIL}"),
    ("oracle", {"scn": "9", "commit_scn": "8:1:0a,12:2:0b-99"}, f"{12:038d}{ORACLE_TAIL}"),
    ("oracle", {"scn": "1", "commit_scn": None, "txSeq": 7}, f"{1:038d}.{7:020d}."),
    ("oracle", {"lcr_position": "0A1b", "commit_scn": "5:1:"}, f"{5:038d}{ORACLE_TAIL}"),
    (
        "oracle",
        {"lcr_position": "0A1b", "commit_scn": "5:1:", "txSeq": 2},
        f"{5:038d}.{2:020d}.0a1b",
    ),
    ("oracle", {"scn": "1" * 39}, None),
    (
        "sqlserver",
        {"commit_lsn": LSN, "change_lsn": "NULL", "event_serial_no": 2},
        f"000000000000012c0005.{0:020d}.{0:020d}",
    ),
    (
        "sqlserver",
        {"commit_lsn": LSN, "change_lsn": LSN, "event_serial_no": 2},
        f"000000000000012c0005.000000000000012c0005.{2:020d}",
    ),
    ("sqlserver", {"commit_lsn": "NULL"}, None),
    ("sqlserver", {"commit_lsn": "12c"}, None),
    ("db2", {"commit_lsn": DB2_LSN, "change_lsn": DB2_LSN}, f"{'0' * 27}14000.{'0' * 27}14000"),
    ("db2", {}, None),
]


@pytest.mark.parametrize(("connector", "offset", "position"), OFFSETS)
def test_an_offset_is_a_position_as_change_events_have_it(
    connector: str, offset: dict[str, object], position: str | None
) -> None:
    assert offset_position(offset, CONNECTORS[connector]) == position
