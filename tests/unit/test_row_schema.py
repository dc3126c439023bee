"""Row schemas: what a schema, proof from JSON and declared types make of a column."""

from __future__ import annotations

import pytest

from lakehouse.connectors import CONNECTORS, POSTGRESQL
from lakehouse.plan.row_schema import RowSchema, proven_schema, read_schema

ZONED = {"type": "string", "name": "io.debezium.time.ZonedTimestamp"}


def envelope(**fields: dict[str, object]) -> dict[str, object]:
    columns = [{"field": name, "optional": True, **kind} for name, kind in fields.items()]
    return {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": columns}]}


def types(schema: RowSchema) -> dict[str, str]:
    assert schema.problem == ""
    return {column.name: f"{column.type.kind} {column.type.spark}" for column in schema.columns}


def test_a_time_with_zone_is_text_where_it_has_more_digits_than_a_timestamp():
    found = {
        name: types(read_schema(envelope(at=ZONED), connector, {}))["at"]
        for name, connector in CONNECTORS.items()
    }
    assert found.pop("sqlserver") == "cast string"
    assert set(found.values()) == {"zoned timestamp"}


def test_tidbs_extension_tells_what_the_wire_hides():
    schema = envelope(
        a={"type": "int64", "tidb_type": "bigint unsigned"},
        b={"type": "int64", "tidb_type": "bigint"},
        c={"type": "string", "tidb_type": "varbinary"},
        d={"type": "string", "tidb_type": "varchar"},
        e={"type": "string", "tidb_type": "json", "name": "io.debezium.data.Json"},
    )
    assert types(read_schema(schema, CONNECTORS["ticdc"], {})) == {
        "a": "unsigned decimal(20,0)",
        "b": "cast bigint",
        "c": "base64 binary",
        "d": "cast string",
        "e": "cast string",
    }


@pytest.mark.parametrize(
    ("declared", "sent", "expected"),
    [
        ("BIGINT  unsigned", "int64", "unsigned decimal(20,0)"),
        ("decimal(10,5)", "double", "cast decimal(10,5)"),
        ("decimal(10, 5)", "string", "cast decimal(10,5)"),
        ("varbinary(16)", "string", "base64 binary"),
        ("varchar(16)", "string", "cast string"),
        ("date", "int32", "days date"),
        ("int unsigned", "int32", "cast bigint"),
    ],
)
def test_a_declared_type_decides(declared, sent, expected):
    found = read_schema(envelope(x={"type": sent}), POSTGRESQL, {"x": declared})
    assert types(found) == {"x": expected}
    assert found.columns[0].doc == f"declared as {declared}"


@pytest.mark.parametrize(("declared", "sent"), [("geometry", "string"), ("varchar(3)", "int32")])
def test_a_declared_type_that_cannot_be_made_is_named(declared, sent):
    problem = read_schema(envelope(x={"type": sent}), POSTGRESQL, {"x": declared}).problem
    assert "'x'" in problem
    assert declared in problem
    assert "columns.x.type" in problem


def test_json_proves_the_types_of_schemaless_messages():
    proven = {
        "a": "BIGINT",
        "b": "DECIMAL(2,1)",
        "c": "DOUBLE",
        "d": "STRING",
        "e": "BOOLEAN",
        "f": "VOID",
        "g": "OBJECT<x: BIGINT>",
        "h": "VARIANT",
    }
    assert types(proven_schema(proven, {})) == {
        "a": "cast bigint",
        "b": "cast double",
        "c": "cast double",
        "d": "cast string",
        "e": "cast boolean",
        "g": "cast string",
        "h": "cast string",
    }


def test_a_declared_decimal_of_schemaless_messages_is_sent_as_bytes_or_as_a_number():
    declared = {"a": "decimal(12,4)", "b": "decimal(12,4)", "c": "decimal(40,2)"}
    proven = {"a": "STRING", "b": "DECIMAL(5,1)", "c": "VOID"}
    assert types(proven_schema(proven, declared)) == {
        "a": "decimal decimal(12,4)",
        "b": "cast decimal(12,4)",
        "c": "decimal string",
    }
