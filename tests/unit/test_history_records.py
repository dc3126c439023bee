"""Records of the schema history that are broken, and those that connectors have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.schemas.ddl import SchemaMessage, parse_event
from lakehouse.quality.schemas.history_records import HistoryMessage, parse_history
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.archives import PREFIXES, read_archive
from tests.unit.test_history_versions import AGE, alter, columns, opened, table
from tests.unit.test_schema_matrix import ID, NAME, QTY

BAD = [
    None,
    "",
    "null",
    "[]",
    "{",
    '{"source": null, "position": {}}',
    '{"position": {"file": "b.1", "pos": 4}, "ddl": "DROP TABLE orders"}',
    '{"source": {}, "position": {}, "tableChanges": {"type": "DROP"}}',
    '{"source": {}, "position": {}, "tableChanges": [null]}',
    '{"source": {}, "position": {}, "tableChanges": [{"type": "ALTER"}]}',
    '{"source": {}, "position": {}, "tableChanges": [{"type": "DROP", "id": "orders\\"."}]}',
    '{"source": {}, "position": {}, "tableChanges": [{"type": "ALTER", "id": "a.b.c.d"}]}',
    '{"source": {}, "position": {}, "tableChanges": [{"type": "ALTER", "id": "a.b", "table": {}}]}',
]


@pytest.mark.parametrize("document", BAD)
def test_a_broken_record_is_a_finding_and_nothing_else(document) -> None:
    source = opened("mysql")
    source.add(document)
    alter(source, 20, (ID, QTY, NAME, AGE), "ADD COLUMN age INT")
    history = parse_history("history", source.history, "mysql", is_whole=True)

    assert [event.message.offset for event in history.events if event.problem] == [2]
    assert [row.change_kinds for row in source.fold(table("mysql"))] == [
        ("create_table",),
        ("add_column",),
    ]


def test_a_record_without_changes_or_position_is_none_of_a_version() -> None:
    source = opened("mysql")
    source.add(
        '{"source": {"server": "p"}, "position": {}, "ddl": "SET character_set_server=utf8"}'
    )

    assert [row.change_kinds for row in source.fold(table("mysql"))] == [("create_table",)]


RECORDED = (
    ("db2", "ddl_drop_recreate_rename", "schemahistory.db2a"),
    ("oracle", "ddl_add_drop_rename_widen", "schemahistory.ora1"),
    ("sqlserver", "ddl_add_drop_rename_widen", "schemahistory.ss1"),
)


@pytest.mark.parametrize(("connector", "name", "topic"), RECORDED)
def test_a_recorded_history_makes_the_versions_of_the_recorded_topic(
    connector, name, topic, captures: Path
) -> None:
    config = parse_source(f'connector = "{connector}"\ntopic_prefix = "p"\n', "p")
    messages = read_archive(captures / connector / name)
    texts = [(m.value or b"").decode() for m in messages if m.topic == topic]
    records = [HistoryMessage(topic, 0, at, False, text) for at, text in enumerate(texts)]
    history = parse_history(topic, records, connector, is_whole=True)
    payloads = [
        json.loads(m.value or b"")["payload"] for m in messages if m.topic == PREFIXES[connector]
    ]
    events = [
        parse_event(SchemaMessage("p", 0, at, f"{at:010d}", json.dumps(payload)), connector)
        for at, payload in enumerate(payloads)
    ]
    rows = ddl_rows(config, "run", history.events, ())
    wanted = ddl_rows(config, "run", events, ())

    assert len(rows) >= 3
    assert [shape(row) for row in rows] == [shape(row) for row in wanted]
    if connector != "oracle":  # Its recorder kept one offset.
        lsns = [row.position.partition(".")[0] for row in rows]
        assert lsns == [p["source"]["commit_lsn"].replace(":", "") for p in payloads]


def shape(row: SchemaVersionRow) -> tuple[object, ...]:
    told_of = [(c["name"], c["type"], c["optional"], c["key"], c["was"]) for c in columns(row)]
    return row.identity, row.change_kinds, row.ddl, told_of
