"""What a default leaves open that a connector read in the database's own text of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.connectors.db2 import DB2
from lakehouse.connectors.mysql import MYSQL
from lakehouse.connectors.postgresql import POSTGRESQL
from lakehouse.connectors.sqlserver import SQLSERVER
from lakehouse.plan.batches.doubted_defaults import with_doubted_defaults
from lakehouse.plan.schemas.connect_schema import parse_column
from lakehouse.plan.schemas.row_schema import PROVEN
from tests.unit.test_stale import PLAN

BELIEVED, DROPPED, WRITTEN, UNTOLD = "", "sends for a function", "older rows have it", "tell no"
DECIMAL = {
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "8"},
}
UUID, DATE = {"type": "string", "name": "io.debezium.data.Uuid"}, "io.debezium.time.Date"
ZONED = {"type": "string", "name": "io.debezium.time.ZonedTimestamp"}
ARRAY = {"type": "array", "items": {"type": "int32", "optional": True}}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ({"type": "int32", "default": 7}, BELIEVED),
        ({"type": "int32", "default": 0}, WRITTEN),
        ({"type": "int32"}, BELIEVED),
        ({"type": "boolean", "default": True}, BELIEVED),
        ({"type": "boolean", "default": False}, WRITTEN),
        ({"type": "double", "default": 0.0}, WRITTEN),
        ({**DECIMAL, "default": "AJY="}, BELIEVED),
        ({**DECIMAL, "default": "AA=="}, WRITTEN),
        ({"type": "string", "default": "it"}, WRITTEN),
        ({"type": "string"}, BELIEVED),
        ({"type": "string", "name": "io.debezium.data.Enum", "default": "m"}, BELIEVED),
        ({"type": "string", "name": "io.debezium.data.Json", "default": "{}"}, WRITTEN),
        ({**UUID, "default": "76019d1a-ad2e-4b22-96e9-1a6d6543c818"}, BELIEVED),
        ({**UUID, "default": "00000000-0000-0000-0000-000000000000"}, DROPPED),
        ({"type": "int32", "name": DATE, "default": 11356}, BELIEVED),
        ({"type": "int32", "name": DATE, "default": 0}, DROPPED),
        ({"type": "int64", "name": "io.debezium.time.MicroTime", "default": 0}, DROPPED),
        ({**ZONED, "default": "1970-01-01T00:00:00.000000Z"}, DROPPED),
        (ARRAY, UNTOLD),
        ({"type": "bytes"}, UNTOLD),
    ],
)
def test_only_what_the_messages_prove_is_believed(field, expected):
    column = parse_column({**field, "field": "a", "optional": True}, POSTGRESQL)
    found = doubted(column, POSTGRESQL)
    assert bool(expected) == ("a" in found.stale)
    if expected:
        assert expected in found.stale["a"].why
        assert found.stale["a"].unless_shown == (expected != DROPPED)
    assert ("a" in found.defaults) == (column.default is not None and expected != DROPPED)
    assert not doubted(column, MYSQL).stale, "its statements tell"


@pytest.mark.parametrize(
    ("connector", "field", "expected"),
    [
        (SQLSERVER, {"type": "int32", "default": 7, "optional": True}, "only if the statement"),
        (SQLSERVER, {"type": "int32", "default": 0}, BELIEVED),
        (SQLSERVER, {"type": "boolean", "default": True}, BELIEVED),
        (SQLSERVER, {"type": "boolean", "default": False}, WRITTEN),
        (SQLSERVER, {"type": "string", "default": "user_sname("}, WRITTEN),
        (SQLSERVER, {"type": "int32", "name": DATE, "optional": True}, BELIEVED),
        (DB2, {"type": "int32", "default": 0, "optional": True}, BELIEVED),
        (DB2, {"type": "string", "default": "USER", "optional": True}, WRITTEN),
        (DB2, {"type": "int32", "name": DATE, "default": 0}, DROPPED),
        (DB2, {"type": "int32", "name": DATE, "optional": True}, UNTOLD),
    ],
)
def test_each_connector_reads_a_default_in_its_own_way(connector, field, expected):
    column = parse_column({"optional": False, **field, "field": "a"}, connector)
    found = doubted(column, connector)
    assert bool(expected) == ("a" in found.stale)
    assert all(expected in each.why for each in found.stale.values())
    is_written = column.default is not None and expected in (BELIEVED, WRITTEN)
    assert ("a" in found.defaults) == is_written


def test_messages_without_a_schema_tell_no_default():
    column = replace(parse_column({"field": "a", "type": "int64"}, POSTGRESQL), wire=PROVEN)
    assert "tell no" in doubted(replace(column, optional=True), POSTGRESQL).stale["a"].why


def doubted(column, connector):
    plan = replace(
        PLAN,
        schema=replace(PLAN.schema, add=(column,)),
        defaults={"a": column} if column.default is not None else {},
    )
    return with_doubted_defaults(plan, connector)
