"""The loss class of a column: what is known of it decides, never a value."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.batches.losses import ColumnFacts, LossClass, loss_of
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.schemas.connect_schema import parse_column
from lakehouse.quality.schemas.losses import column_losses

EXACT, WIDENED, LOSSY = LossClass.EXACT, LossClass.WIDENED, LossClass.LOSSY
DECIMAL = "org.apache.kafka.connect.data.Decimal"
DEBEZIUM = "io.debezium.time."


def facts(kind: str, wire: str, semantic: str = "", **more: str) -> ColumnFacts:
    return ColumnFacts("c", kind, wire, semantic, **more)


@pytest.mark.parametrize(
    ("connector", "column", "loss", "reason"),
    [
        ("postgresql", facts("bigint", "int64"), EXACT, ""),
        ("postgresql", facts("string", "string"), EXACT, ""),
        ("postgresql", facts("timestamp", "string", DEBEZIUM + "ZonedTimestamp"), EXACT, ""),
        ("sqlserver", facts("string", "string", DEBEZIUM + "ZonedTimestamp"), EXACT, ""),
        ("oracle", facts("decimal(10,2)", "bytes", DECIMAL), EXACT, ""),
        ("postgresql", facts("int", "int16"), WIDENED, "no smaller number"),
        ("postgresql", facts("bigint", "int64", DEBEZIUM + "MicroTime"), WIDENED, "unit"),
        ("oracle", facts("string", "bytes", DECIMAL), WIDENED, "38 digits"),
        ("oracle", facts("string", "struct", "io.debezium.data.VariableScaleDecimal"), WIDENED, ""),
        ("postgresql", facts("double", "double"), EXACT, ""),
        ("postgresql", facts("array<double>", "array"), LOSSY, "-0.0"),
        ("postgresql", facts("map<string,float>", "map"), LOSSY, "-0.0"),
        ("postgresql", facts("struct<x:double,y:double>", "struct"), LOSSY, "-0.0"),
        ("postgresql", facts("map<string,string>", "map"), EXACT, ""),
        ("postgresql", facts("decimal(10,2)", "bytes", DECIMAL), LOSSY, "NaN"),
        ("postgresql", facts("array<string>", "array"), LOSSY, "inner arrays"),
        ("oracle", facts("timestamp", "string", DEBEZIUM + "ZonedTimestamp"), LOSSY, "offset"),
        ("oracle", facts("timestamp", "string", DEBEZIUM + "ZonedTimestamp"), LOSSY, "quarantined"),
        ("sqlserver", facts("bigint", "int64", DEBEZIUM + "NanoTimestamp"), LOSSY, "1677"),
        ("postgresql", facts("bigint", "int64", DEBEZIUM + "MicroDuration"), LOSSY, "30.4375"),
        ("mysql", facts("date", "int32", DEBEZIUM + "Date"), LOSSY, "zero dates"),
        ("mariadb", facts("string", "string", "io.debezium.data.Json"), LOSSY, "spell"),
        ("mysql", facts("string", "string", "io.debezium.data.Enum"), LOSSY, "comma"),
        ("mysql", facts("float", "float"), LOSSY, "six digits"),
        ("mysql", facts("double", "double"), LOSSY, "if it is FLOAT"),
        ("mysql", facts("double", "double", source_type="FLOAT(7,2)"), LOSSY, "four bytes"),
        ("mysql", facts("double", "double", source_type="DOUBLE"), EXACT, ""),
        ("mysql", facts("bigint", "int64"), LOSSY, "if it is BIGINT UNSIGNED"),
        ("mysql", facts("bigint", "int64", source_type="BIGINT"), EXACT, ""),
        ("mysql", facts("bigint", "int64", source_type="BIGINT UNSIGNED"), LOSSY, "arrives neg"),
        (
            "mysql",
            facts("decimal(20,0)", "int64", doc="declared as bigint unsigned"),
            WIDENED,
            "larger than a signed",
        ),
        ("mysql", facts("double", "double", source_type="DECIMAL(10,2)"), LOSSY, "15th"),
        ("ticdc", facts("double", "double"), LOSSY, "if it is a DECIMAL"),
        (
            "ticdc",
            facts("decimal(12,4)", "double", doc="declared as decimal(12,4)"),
            LOSSY,
            "15th are lost",
        ),
        ("ticdc", facts("string", "string"), LOSSY, "if it is BINARY"),
        ("ticdc", facts("string", "string", source_type="varchar"), EXACT, ""),
        ("ticdc", facts("string", "string", source_type="blob"), WIDENED, "Base64"),
        ("postgresql", facts("double", "json"), LOSSY, "without a schema"),
        ("postgresql", facts("string", "int32", doc="masked: dropped"), LOSSY, "masked: dropped"),
    ],
)
def test_the_loss_class_of(connector: str, column: ColumnFacts, loss: LossClass, reason: str):
    found = loss_of(column, CONNECTORS[connector])
    assert found.loss is loss
    assert reason in found.reason
    assert bool(found.reason) == (loss is not EXACT)


@pytest.mark.parametrize(
    ("column", "fact"),
    [
        (facts("bigint", "int64"), "the schema in the messages"),
        (facts("bigint", "json"), "the JSON of the messages"),
        (facts("bigint", "int64", source_type="BIGINT"), "the type in the source's schema"),
        (
            facts("bigint", "int64", doc="declared as bigint"),
            "the type in the TOML file, or else of the source's statements",
        ),
        (facts("string", "int64", doc="masked: dropped"), "the mask in the TOML file"),
    ],
)
def test_a_class_says_what_it_is_known_from(column: ColumnFacts, fact: str):
    assert loss_of(column, CONNECTORS["mysql"]).fact == fact


def test_reasons_of_one_class_stand_together():
    known = loss_of(facts("float", "float", source_type="DECIMAL(10,2)"), CONNECTORS["mysql"])
    assert known.reason.count("; ") == 1


def test_a_schema_says_the_type_on_the_wire_and_in_the_source():
    field = {"type": "int64", "optional": True, "field": "n", "tidb_type": "bigint unsigned"}
    column = parse_column(field, CONNECTORS["ticdc"])
    assert (column.wire, column.source_type) == ("int64", "bigint unsigned")
    field = {"type": "int16", "field": "n", "parameters": {"__debezium.source.column.type": "INT2"}}
    column = parse_column(field, CONNECTORS["postgresql"])
    assert (column.wire, column.source_type) == ("int16", "INT2")


def version(columns: object, fingerprint: str = "1", verdict: str = "evolve") -> SchemaVersionRow:
    return SchemaVersionRow(
        source="shop",
        run_id="r",
        table="shop__orders",
        identity='["shop", null, "orders"]',
        previous="",
        fingerprint=fingerprint,
        topic="t",
        partition=0,
        offset=0,
        position="",
        ddl="",
        change_kinds=(),
        columns=json.dumps(columns),
        verdict=verdict,
        decision="policy",
        reason="",
        recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def sent(name: str, kind: str, wire: str) -> dict[str, object]:
    return {"name": name, "type": kind, "wire": wire, "semantic": "", "doc": ""}


SHOP = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")


def test_a_column_that_was_lossy_once_has_lossy_rows():
    rows = (
        version([{"name": "N", "type": "BIGINT"}, {"name": "x", "type": "DECIMAL"}], "ddl:1"),
        version([sent("n", "bigint", "int64"), sent("x", "double", "double")], "1"),
        version([sent("X", "string", "string"), sent("y", "int", "int32")], "2"),
        version([sent("z", "double", "double")], "3", verdict="hold"),
    )
    found = column_losses(rows, SHOP)
    classes = {loss.name: loss.loss for loss in found["silver_shop.shop__orders"]}
    assert classes == {"n": EXACT, "x": LOSSY, "y": EXACT}


def test_what_was_recorded_without_a_type_on_the_wire_is_judged_by_the_rest():
    column = {"name": "n", "type": "array<double>", "semantic": "", "doc": ""}
    found = column_losses([version([column])], SHOP)
    assert [loss.loss for loss in found["silver_shop.shop__orders"]] == [LOSSY]


def test_a_column_that_has_left_silver_is_not_listed():
    dropping = SHOP.schema_changes.model_copy(update={"drop_column": "drop"})
    rows = [
        version([sent("n", "bigint", "int64"), sent("x", "double", "double")], "1"),
        version([sent("n", "bigint", "int64")], "2"),
    ]
    for source, names in (
        (SHOP, ["n", "x"]),
        (SHOP.model_copy(update={"schema_changes": dropping}), ["n"]),
    ):
        found = column_losses(rows, source)["silver_shop.shop__orders"]
        assert [loss.name for loss in found] == names
