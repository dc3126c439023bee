"""Every kind of token decodes to its value; what cannot be decoded is NULL, never another value."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from lakehouse.plan.schemas.types import Kind, ValueType
from lakehouse.spark.decoding.decode import decode
from lakehouse.spark.sql import literal

INT = ValueType(Kind.CAST, "int")
TEXT = ValueType(Kind.CAST, "string")
MICROS = ValueType(Kind.MICROS, "timestamp_ntz")
ZONED = ValueType(Kind.ZONED, "timestamp")
DECIMAL = ValueType(Kind.DECIMAL, "decimal(38,2)", 2)
VARIABLE = ValueType(Kind.VARIABLE_DECIMAL, "string")
DOUBLE = ValueType(Kind.CAST, "double")
SMALL = ValueType(Kind.NARROW, "int", element=ValueType(Kind.CAST, "smallint"))
PAIRS = ValueType(Kind.MAP, "map<int,double>", element=DOUBLE, key=SMALL)
SPARSE = ValueType(
    Kind.STRUCT,
    "struct<dimensions:int,vector:map<int,double>>",
    fields=(("dimensions", SMALL), ("vector", PAIRS)),
)
PAIRS_OF_PAIRS = ValueType(
    Kind.MAP, "map<date,map<int,double>>", element=PAIRS, key=ValueType(Kind.DAYS, "date")
)
MAP_OF_PAIRS = ValueType(Kind.MAP, "map<string,map<int,double>>", element=PAIRS)


def unscaled(number: int) -> str:
    """The number as Kafka Connect writes a Decimal: base64 of big-endian two's complement."""
    size = number.bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def variable(number: int, scale: int) -> str:
    return json.dumps({"scale": scale, "value": unscaled(number)})


def array(element: ValueType) -> ValueType:
    return ValueType(Kind.ARRAY, f"array<{element.spark}>", element=element)


def kept(spark: str, element: ValueType) -> ValueType:
    return ValueType(Kind.KEPT, spark, element=element)


CASES = [
    (kept("int", TEXT), "12", 12),
    (kept("int", TEXT), "012", None),
    (kept("int", TEXT), "twelve", None),
    (kept("int", ValueType(Kind.CAST, "bigint")), "2147483648", None),
    (kept("int", ValueType(Kind.CAST, "double")), "1.0", 1),
    (kept("int", ValueType(Kind.CAST, "double")), "1.5", None),
    (kept("string", INT), "12", "12"),
    (kept("decimal(10,2)", ValueType(Kind.CAST, "double")), "1.25", Decimal("1.25")),
    (kept("decimal(10,2)", ValueType(Kind.CAST, "double")), "1.255", None),
    (kept("date", MICROS), "86400000000", date(1970, 1, 2)),
    (kept("date", MICROS), "86400000001", None),
    (kept("int", TEXT), None, None),
    (INT, "7", 7),
    (INT, "-2147483648", -(2**31)),
    (INT, "2147483648", None),
    (INT, "seven", None),
    (TEXT, "it's a \\ `quote`", "it's a \\ `quote`"),
    (ValueType(Kind.CAST, "boolean"), "true", True),
    (ValueType(Kind.CAST, "double"), "1.5", 1.5),
    (ValueType(Kind.BASE64, "binary"), "AAH/", b"\x00\x01\xff"),
    (ValueType(Kind.BASE64, "binary"), "no base64!", None),
    (ValueType(Kind.DAYS, "date"), "-354285", date(1000, 1, 1)),
    (ValueType(Kind.DAYS, "date"), "2932896", date(9999, 12, 31)),
    (ValueType(Kind.DAYS, "date"), "2932897", None),
    (
        ValueType(Kind.MILLIS, "timestamp_ntz"),
        "-1",
        datetime.fromisoformat("1969-12-31T23:59:59.999"),
    ),
    (ValueType(Kind.MILLIS, "timestamp_ntz"), "9223372036854775807", None),
    (MICROS, "253402300799999999", datetime.fromisoformat("9999-12-31T23:59:59.999999")),
    (MICROS, "253402300800000000", None),
    (
        ZONED,
        "2026-02-28T12:00:00.000001Z",
        datetime(2026, 2, 28, 12, 0, 0, 1, tzinfo=UTC),
    ),
    (DECIMAL, unscaled(-1), Decimal("-0.01")),
    (DECIMAL, unscaled(0), Decimal("0.00")),
    (DECIMAL, unscaled(10**38 - 1), Decimal(f"{10**38 - 1}e-2")),
    (DECIMAL, unscaled(1 - 10**38), Decimal(f"{1 - 10**38}e-2")),
    (DECIMAL, unscaled(10**38), None),
    (DECIMAL, "", None),
    (ValueType(Kind.DECIMAL, "decimal(5,2)", 2), unscaled(100_000), None),
    (ValueType(Kind.DECIMAL, "string", 40), unscaled(-15), "-0." + "0" * 38 + "15"),
    (ValueType(Kind.DECIMAL, "string", 30), unscaled(-(10**64) - 7), f"-1{'0' * 34}.{'0' * 29}7"),
    (ValueType(Kind.DECIMAL, "string", 0), unscaled(-(2**4095)), str(-(2**4095))),
    (ValueType(Kind.DECIMAL, "string", 0), unscaled(2**20000), None),
    (ZONED, "9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    (ZONED, "+10000-01-01T00:00:00.000000Z", None),
    (ZONED, "-0043-03-15T00:00:00.000000Z", None),
    (ZONED, "infinity", None),
    (VARIABLE, variable(-12345, 3), "-12.345"),
    (VARIABLE, variable(12, -3), "12000"),
    (VARIABLE, variable(5, 0), "5"),
    (ValueType(Kind.VARIABLE_DECIMAL, "decimal(5,2)", 2), variable(-1500, 3), Decimal("-1.50")),
    (ValueType(Kind.VARIABLE_DECIMAL, "decimal(5,2)", 2), variable(1505, 3), None),
    (ValueType(Kind.VARIABLE_DECIMAL, "decimal(5,2)", 2), variable(1, -3), None),
    (ValueType(Kind.CAST, "decimal(5,2)", 2), "1.25", Decimal("1.25")),
    (ValueType(Kind.CAST, "decimal(5,2)", 2), "1.255", None),
    (ValueType(Kind.CAST, "decimal(5,2)", 2), "1.5E2", Decimal("150.00")),
    (ValueType(Kind.DECIMAL, "decimal(12,4)", 2), unscaled(150), Decimal("1.5000")),
    (array(INT), "[1,null,3]", [1, None, 3]),
    (array(TEXT), '["a","b,c",null]', ["a", "b,c", None]),
    (array(DECIMAL), json.dumps([unscaled(150)]), [Decimal("1.50")]),
    (array(array(INT)), "[[1],[2,3]]", [[1], [2, 3]]),
    (array(MICROS), "[1]", [datetime.fromisoformat("1970-01-01T00:00:00.000001")]),
    (array(INT), "no array", None),
    (array(INT), '[1,null,"x"]', None),
    (array(ValueType(Kind.DAYS, "date")), "[-622191234]", None),
    (array(array(INT)), '[[1],["x"]]', None),
    (array(ValueType(Kind.CAST, "double")), "[null,1.5]", [None, 1.5]),
    (ValueType(Kind.MAP, "map<string,int>", element=INT), '{"a":"x"}', None),
    (ValueType(Kind.STRUCT, "struct<x:int>", fields=(("x", INT),)), '{"x":"y"}', None),
    (
        ValueType(Kind.MAP, "map<string,int>", element=INT),
        '{"a":1,"b":null}',
        {"a": 1, "b": None},
    ),
    (
        ValueType(
            Kind.STRUCT,
            "struct<`x y`:int,when:timestamp_ntz>",
            fields=(("x y", INT), ("when", MICROS)),
        ),
        '{"x y":4,"when":0}',
        (4, datetime.fromisoformat("1970-01-01")),
    ),
    (PAIRS, "[[1,1.5],[5,-2.0]]", {1: 1.5, 5: -2.0}),
    (PAIRS, '[[1,"NaN"],[-32768,null]]', {1: math.nan, -32768: None}),
    (PAIRS, "[]", {}),
    (PAIRS, '{"1":1.5}', None),
    (PAIRS, "{}", None),
    (PAIRS, "[1,1.5]", None),
    (PAIRS, "[[1]]", None),
    (PAIRS, "[[1,1.5,2]]", None),
    (PAIRS, "[[1,1.5],null]", None),
    (PAIRS, "[[null,1.5]]", None),
    (PAIRS, "[[32768,1.5]]", None),
    (PAIRS, '[[1,"x"]]', None),
    (PAIRS, '[[1,null],[2,"x"]]', None),
    (PAIRS, "[[1,1.5],[1,2.5]]", None),
    (SPARSE, '{"dimensions":5,"vector":[[1,1.5],[5,-2.0]]}', (5, {1: 1.5, 5: -2.0})),
    (SPARSE, '{"dimensions":5,"vector":null}', (5, None)),
    (SPARSE, '{"dimensions":5,"vector":{"1":1.5}}', None),
    (SPARSE, '{"dimensions":5,"vector":[[1,"x"]]}', None),
    (
        PAIRS_OF_PAIRS,
        "[[0,[[1,1.5]]],[1,null]]",
        {date(1970, 1, 1): {1: 1.5}, date(1970, 1, 2): None},
    ),
    (PAIRS_OF_PAIRS, '[[0,[[1,"x"]]]]', None),
    (MAP_OF_PAIRS, '{"a":[[1,1.5]],"b":null}', {"a": {1: 1.5}, "b": None}),
    (MAP_OF_PAIRS, '{"a":[[1]]}', None),
    (array(PAIRS), "[[[1,1.5]],null,[]]", [{1: 1.5}, None, {}]),
    (array(PAIRS), "[[[1,1.5],[1,2.5]]]", None),
]
CASES += [(kind, None, None) for kind in {repr(case[0]): case[0] for case in CASES}.values()]


def values_of(spark: SparkSession, cases: list[tuple[ValueType, str | None]]) -> list[object]:
    """Decode each token with its kind, in one query whose tokens are columns."""
    tokens = {f"t{index}": token for index, (_, token) in enumerate(cases)}
    rows = spark.range(1).selectExpr(
        *(
            f"{'CAST(NULL AS string)' if token is None else literal(token)} AS {name}"
            for name, token in tokens.items()
        )
    )
    decoded = rows.localCheckpoint().selectExpr(
        *(
            f"CAST({decode(name, kind)} AS {kind.spark}) AS v{index}"
            for index, (name, (kind, _)) in enumerate(zip(tokens, cases, strict=True))
        )
    )
    return list(decoded.collect()[0])


def comparable(value: object) -> object:
    """A timestamp with a zone comes back as this machine's local time without one."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone().replace(tzinfo=None)
    return tuple(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("generated", [True, False], ids=["generated code", "interpreted"])
def test_each_kind_of_token_decodes_to_its_value(spark: SparkSession, *, generated: bool) -> None:
    session = spark.newSession()
    if not generated:
        session.conf.set("spark.sql.codegen.wholeStage", "false")
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    found = values_of(session, [(kind, token) for kind, token, _ in CASES])
    wrong = [
        (kind.spark, token, expected, value)
        for (kind, token, expected), value in zip(CASES, found, strict=True)
        if repr(comparable(expected)) != repr(comparable(value))
    ]
    assert wrong == []


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    st.lists(
        # As many of each length: it decides on the way that a number takes.
        st.tuples(
            st.integers(0, 80).flatmap(lambda digits: st.integers(-(10**digits), 10**digits)),
            st.integers(-6, 40),
        ),
        min_size=20,
        max_size=30,
    )
)
def test_decimals_of_any_scale_are_exact(
    spark: SparkSession, numbers: list[tuple[int, int]]
) -> None:
    tokens = ", ".join(literal(variable(number, scale)) for number, scale in numbers)
    # Rows, not columns: one expression is planned for all.
    rows = spark.range(1).selectExpr(f"posexplode(array({tokens})) AS (place, token)")
    decoded = rows.localCheckpoint().selectExpr("place", f"{decode('token', VARIABLE)} AS text")
    found = {row["place"]: Decimal(row["text"]) for row in decoded.collect()}
    assert found == {
        place: Decimal(f"{number}e{-scale}") for place, (number, scale) in enumerate(numbers)
    }
