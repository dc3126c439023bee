"""What statements tell of a table is what its data events carry, in every recorded archive."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.config import SourceConfig, TopicRole, parse_source, topic_role
from lakehouse.connectors import CONNECTORS, Codec, PositionField
from lakehouse.names import TableIdentity
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.schemas.row_schema import PROVEN, read_schema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.quality.schemas.crosscheck import differences
from lakehouse.quality.schemas.ddl import SchemaMessage, parse_event, without_copies
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.version_rows import ddl_rows
from lakehouse.quality.schemas.versions import Judged, Version
from tests.support.archives import Message, capture_cases, read_archive
from tests.support.captures import Capture
from tests.unit.test_quality_ddl import ID as SQL_ID
from tests.unit.test_quality_ddl import SHOP, change, column, event

DECIMAL = "org.apache.kafka.connect.data.Decimal"
PRICE = column("price", "DECIMAL", length=8, scale=2)


def text_of(block: Mapping[str, object], field: PositionField) -> str:
    """A part of a position as text of fixed width."""
    values = [str(block[path]) for path in field.paths if block.get(path) is not None]
    if field.codec is Codec.NUMBERED_FILE:
        values = [value.rpartition(".")[2] for value in values]
    digits = [value.replace(":", "").lower().rjust(field.width, "0") for value in values]
    return max(digits, default="0" * field.width)


def position_of(source: SourceConfig, block: Mapping[str, object]) -> str:
    return ".".join(text_of(block, field) for field in CONNECTORS[source.connector].position)


def read(message: Message) -> tuple[dict, dict]:
    """Schema and payload of a value; empty where it has none."""
    try:
        document = json.loads(message.value or b"{}")
        payload = document.get("payload", document)
        return document.get("schema") or {}, payload if isinstance(payload, dict) else {}
    except (ValueError, AttributeError, RecursionError):
        return {}, {}


def key_of(message: Message) -> tuple[str, ...]:
    key = json.loads(message.key or b"{}")
    return tuple(sorted(key.get("payload", key)))


def cross_check(source: SourceConfig, messages: list[Message]) -> tuple:
    """The differences that an archive shows, and how many versions were compared."""
    told, versions = [], {}
    for message in messages:
        schema, payload = read(message)
        block = payload.get("source")
        if not isinstance(block, dict) or not block.get("table"):
            continue
        position = position_of(source, block)
        place = (message.topic, message.partition, message.offset)
        if "tableChanges" in payload and topic_role(source, message.topic) in (
            TopicRole.SCHEMA_CHANGE,
            TopicRole.DATA,
        ):
            is_snapshot = block.get("snapshot") == "true"
            sent = SchemaMessage(*place, position, json.dumps(payload), is_snapshot)
            told.append(parse_event(sent, source.connector))
        elif payload.get("op") in ("c", "u", "r") and schema:
            table = TableIdentity(block.get("db"), block.get("schema"), block["table"])
            columns = read_schema(schema, CONNECTORS[source.connector], {}).columns
            print_of = (table, zlib.crc32(json.dumps(schema).encode()))
            version = Version(
                table, print_of[1], columns, key_of(message), (place,), position=position
            )
            versions.setdefault(print_of, version)
    rows = ddl_rows(source, "run", without_copies(told), ())
    lives = incarnations(rows, source.connector)
    tables: dict[TableIdentity, list[Judged]] = {}
    for version in versions.values():
        life = lives.at(version.identity.parts(source.connector), version.position)
        table = replace(version.identity, incarnation=life[1])
        judged = Judged(replace(version, identity=table), (), "evolve", "", is_new=True)
        tables.setdefault(table, []).append(judged)
    return differences(source, tables, rows, lives), len(versions) if rows else 0


def test_the_statements_of_every_archive_are_those_of_its_events(captures: Path):
    compared = 0
    for connector, folder in capture_cases(captures):
        messages = sorted(read_archive(folder), key=lambda m: (m.timestamp_ms, m.offset))
        source = parse_source(Capture(connector, folder).toml, "s")
        found, versions = cross_check(source, messages)
        assert [(folder.name, each.position, each.text) for each in found] == []
        compared += versions
    assert compared >= 15


def test_a_statement_that_is_lost_shows_at_the_first_event_behind_it(captures: Path):
    folder = captures / "oracle" / "ddl_add_drop_rename_widen"
    messages = sorted(read_archive(folder), key=lambda m: (m.timestamp_ms, m.offset))
    kept = [m for m in messages if b"RENAME COLUMN" not in (m.value or b"")]
    found, _ = cross_check(parse_source(Capture("oracle", folder).toml, "s"), kept)
    assert [each.text for each in found] == [
        "column 'LABEL' stands in data events alone; column 'V' stands in the statement alone"
    ]
    assert found[0].position.startswith(f"{335:038d}.")


CREATED = ddl_rows(SHOP, "run", (event(1, change("CREATE", SQL_ID, PRICE)),), ())
MONEY = Column("price", ValueType(Kind.DECIMAL, "decimal(8,2)", 2), True, semantic=DECIMAL)
KEY = Column("id", ValueType(Kind.CAST, "int"), optional=False)
SENT = {
    "": ((KEY, MONEY), ("id",)),
    "column 'note' stands in data events alone": (
        (KEY, MONEY, Column("note", ValueType(Kind.CAST, "string"), optional=True)),
        ("id",),
    ),
    "column 'price' stands in the statement alone": ((KEY,), ("id",)),
    "column 'price' is nullable by the statement and not null in data events": (
        (KEY, replace(MONEY, optional=False)),
        ("id",),
    ),
    "column 'price' is decimal(8,2) by the statement and sent as decimal(10,4)": (
        (KEY, replace(MONEY, type=ValueType(Kind.DECIMAL, "decimal(10,4)", 4))),
        ("id",),
    ),
    "the key is id by the statement and id, price in data events": (
        (KEY, MONEY),
        ("id", "price"),
    ),
}


def compare(
    columns: tuple[Column, ...],
    key: tuple[str, ...] = ("id",),
    *,
    toml: str = "",
    position: str = "0000000002",
) -> list[str]:
    table = TableIdentity("shop", None, "orders")
    version = Version(table, 1, columns, key, (("t", 0, 0),), position=position)
    source = parse_source(f'connector = "mysql"\ntopic_prefix = "shop"\n{toml}', "shop")
    judged = {table: (Judged(version, (), "evolve", "", is_new=True),)}
    return [each.text for each in differences(source, judged, CREATED, Incarnations())]


@pytest.mark.parametrize("text", SENT)
def test_a_difference_is_told_in_words(text):
    assert compare(*SENT[text]) == ([text] if text else [])


def test_what_the_file_asks_for_is_no_difference():
    options = '[tables."shop.orders"]\n'
    assert compare((KEY,), toml=f'{options}columns.price = {{ mask = "drop" }}\n') == []
    assert compare((KEY, MONEY), ("id", "price"), toml=f'{options}key = ["id"]\n') == []


def test_columns_that_values_alone_prove_are_not_compared():
    assert compare((replace(KEY, optional=True, wire=PROVEN),)) == []


def test_before_the_first_statement_there_is_nothing_to_compare_with():
    assert compare((KEY,), position="0000000000") == []
