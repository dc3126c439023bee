"""Row schemas: what a schema, proof from JSON and declared types make of a column."""

from __future__ import annotations

import pytest

from lakehouse.config.source_types import TYPES_OF, Family, parse_source_type
from lakehouse.connectors import CONNECTORS, POSTGRESQL
from lakehouse.plan.schemas.row_schema import RowSchema, proven_schema, read_schema
from lakehouse.plan.schemas.schema import diff_columns

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


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"type": "string"}, "map map<string,double>"),
        ({"type": "string", "name": "io.debezium.data.Uuid"}, "map map<string,double>"),
        ({"type": "int16"}, "map map<int,double>"),
        ({"type": "int32", "name": "io.debezium.time.Date"}, "map map<date,double>"),
        ({"type": "bytes"}, "map map<binary,double>"),
    ],
)
def test_the_keys_of_a_map_have_the_type_that_the_schema_says(keys, expected):
    schema = envelope(x={"type": "map", "keys": keys, "values": {"type": "double"}})
    assert types(read_schema(schema, POSTGRESQL, {})) == {"x": expected}


def test_a_map_whose_keys_no_map_of_silver_can_have_is_a_problem_of_its_table():
    pairs = {"type": "map", "keys": {"type": "int16"}, "values": {"type": "double"}}
    schema = envelope(x={**pairs, "keys": pairs})
    assert "type 'map' of a map's keys" in read_schema(schema, POSTGRESQL, {}).problem


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
        ("int(10) zerofill", "int32", "cast bigint"),
        ("decimal(10,5) unsigned", "double", "cast decimal(10,5)"),
        ("float(53)", "float", "cast double"),
        ("float", "double", "cast double"),
        ("datetime(3)", "int64", "millis timestamp_ntz"),
        ("datetime(6)", "int64", "micros timestamp_ntz"),
        ("datetime2(7)", "int64", "cast bigint"),
        ("timestamp", "int64", "micros timestamp_ntz"),
        ("timestamp(3) without time zone", "int64", "millis timestamp_ntz"),
        ("timestamp(6) with time zone", "string", "zoned timestamp"),
        ("time(6)", "int64", "cast bigint"),
        ("year", "int32", "cast int"),
        ("bit(1)", "boolean", "cast boolean"),
        ("bit(10)", "bytes", "base64 binary"),
        ("enum('a','b')", "string", "cast string"),
        ("character varying(20)", "string", "cast string"),
    ],
)
def test_a_declared_type_decides(declared, sent, expected):
    found = read_schema(envelope(x={"type": sent}), POSTGRESQL, {"x": declared})
    assert types(found) == {"x": expected}
    assert found.columns[0].doc == f"declared as {declared}"


def test_a_timestamp_has_a_zone_where_the_source_gives_it_one():
    schema = envelope(x={"type": "string"}), envelope(x={"type": "int64"})
    zoned = read_schema(schema[0], CONNECTORS["mysql"], {"x": "timestamp"})
    bare = read_schema(schema[1], POSTGRESQL, {"x": "timestamp(3)"})
    assert (types(zoned), types(bare)) == (
        {"x": "zoned timestamp"},
        {"x": "millis timestamp_ntz"},
    )
    # What a batch happens to hold decides nothing.
    for proven in ("VOID", "BIGINT", "STRING"):
        found = proven_schema({"x": proven}, POSTGRESQL, {"x": "timestamp"}, {})
        assert types(found) == {"x": "micros timestamp_ntz"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("INT", "BIGINT", ["widen_type"]),
        ("BIGINT", "INT", ["narrow_type"]),
        ("DECIMAL(6,2)", "DECIMAL(10,2)", ["widen_type"]),
        ("DECIMAL(6,2)", "DECIMAL(10,4)", ["change_type"]),
        ("SMALLINT", "MEDIUMINT", []),
        # Another number of the same type: a unit is no size.
        ("INT", "TIME", ["change_type"]),
    ],
)
def test_a_number_that_is_told_to_be_larger_is_the_same_number(before, after, expected):
    proven = {"x": "STRING" if "DECIMAL" in before else "BIGINT"}
    told = [proven_schema(proven, POSTGRESQL, {}, {"x": text}) for text in (before, after)]
    assert [each.kind for each in diff_columns(*(schema.columns for schema in told))] == expected


@pytest.mark.parametrize(
    ("sent", "declared", "expected"),
    [
        (ZONED, "text", "cast string"),
        ({"type": "int64", "name": "io.debezium.time.MicroTimestamp"}, "bigint", "cast bigint"),
        ({"type": "int32", "name": "io.debezium.time.Date"}, "int", "cast int"),
    ],
)
def test_what_is_sent_can_be_kept_as_it_is(sent, declared, expected):
    for connector in (POSTGRESQL, CONNECTORS["oracle"]):
        assert types(read_schema(envelope(x=sent), connector, {"x": declared})) == {"x": expected}


@pytest.mark.parametrize(
    ("declared", "named", "expected"),
    [
        ("datetime(6)", "MicroTimestamp", "micros timestamp_ntz"),
        ("datetime", "MicroTimestamp", "micros timestamp_ntz"),
        ("datetime2(3)", "NanoTimestamp", "cast bigint"),
        ("date", "Timestamp", "millis timestamp_ntz"),
        ("time(3)", "MicroTime", "cast bigint"),
    ],
)
def test_the_unit_of_a_declared_time_is_what_the_schema_says(declared, named, expected):
    sent = {"type": "int64", "name": f"io.debezium.time.{named}"}
    found = read_schema(envelope(x=sent), CONNECTORS["ticdc"], {"x": declared})
    assert types(found) == {"x": expected}


@pytest.mark.parametrize(
    ("declared", "scale", "expected"),
    [
        ("decimal(12,4)", "2", ("decimal decimal(12,4)", 2)),
        ("decimal(50,4)", "4", ("decimal string", 4)),
    ],
)
def test_the_bytes_of_a_declared_decimal_have_the_scale_of_their_schema(declared, scale, expected):
    sent = {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": scale},
    }
    found = read_schema(envelope(x=sent), POSTGRESQL, {"x": declared})
    assert (types(found)["x"], found.columns[0].type.scale) == expected
    assert (
        "decimal(12,1)" in read_schema(envelope(x=sent), POSTGRESQL, {"x": "decimal(12,1)"}).problem
    )


def test_a_number_with_a_scale_of_its_own_has_the_declared_one():
    sent = {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal"}
    found = read_schema(envelope(x=sent), POSTGRESQL, {"x": "number(12,2)"})
    assert types(found) == {"x": "variable_decimal decimal(12,2)"}


@pytest.mark.parametrize(
    ("declared", "sent"), [("boolean", "bytes"), ("varchar(3)", "int32"), ("datetime", "bytes")]
)
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
    assert types(proven_schema(proven, POSTGRESQL, {}, {})) == {
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
    assert types(proven_schema(proven, POSTGRESQL, declared, {})) == {
        "a": "decimal decimal(12,4)",
        "b": "cast decimal(12,4)",
        "c": "decimal string",
    }


TIDB = (
    *("bit(1)", "bit(64)", "tinyint(1)", "bool", "boolean", "smallint", "mediumint", "int(11)"),
    *("integer", "bigint", "bigint(20) unsigned", "int unsigned zerofill", "float", "float(7,2)"),
    *("double", "double precision", "decimal(65,30)", "numeric(10)", "char(20)", "varchar(20)"),
    *("tinytext", "text", "mediumtext", "longtext", "binary(16)", "varbinary(16)", "tinyblob"),
    *("blob", "mediumblob", "longblob", "enum('a','it''s (b)')", "set('x','y')", "date"),
    *("datetime", "datetime(6)", "timestamp", "timestamp(6)", "time", "time(6)", "year", "json"),
    "vector(3)",
)


@pytest.mark.parametrize("text", TIDB)
def test_each_type_of_tidb_can_be_declared(text):
    # https://docs.pingcap.com/tidb/stable/data-type-overview/
    assert parse_source_type(text.upper()).name == parse_source_type(text).name


@pytest.mark.parametrize("family", Family)
def test_each_family_of_types_can_be_made_of_something(family):
    size = 6 if family is not Family.BITS else 1
    declared = f"{TYPES_OF[family][0]}({size})"
    assert parse_source_type(declared).family is family
    sent = ("int32", "int64", "string", "double", "boolean", "bytes")
    found = [read_schema(envelope(x={"type": kind}), POSTGRESQL, {"x": declared}) for kind in sent]
    assert [schema for schema in found if not schema.problem] != []
