"""Values of a PostgreSQL source that do not fit their column, and odd ones that do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime

from tests.support.bad_input import ROW

BAD = object()


@dataclass(frozen=True)
class Value:
    """One row: a JSON token in one column, and what silver has of it; BAD: nothing."""

    column: str
    raw: str
    stored: object


def _bad(column: str, raw: str) -> Value:
    return Value(column, raw, BAD)


def _kept(column: str, raw: str, stored: object) -> Value:
    return Value(column, raw, stored)


def _field(kind: str, name: str = "", **more: object) -> ROW:
    return {"type": kind, "optional": True, **({"name": name} if name else {}), **more}


_DECIMAL = "org.apache.kafka.connect.data.Decimal"
_INT = {"type": "int32", "optional": True}
COLUMNS: dict[str, ROW] = {
    "tiny": _field("int8"),
    "small": _field("int16"),
    "int": _field("int32"),
    "long": _field("int64"),
    "float": _field("float"),
    "double": _field("double"),
    "flag": _field("boolean"),
    "text": _field("string"),
    "bytes": _field("bytes"),
    "money": _field("bytes", _DECIMAL, parameters={"scale": "2", "connect.decimal.precision": "4"}),
    "huge": _field("bytes", _DECIMAL, parameters={"scale": "0"}),
    "variable": _field(
        "struct",
        "io.debezium.data.VariableScaleDecimal",
        fields=[
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ],
    ),
    "date": _field("int32", "io.debezium.time.Date"),
    "micros": _field("int64", "io.debezium.time.MicroTimestamp"),
    "zoned": _field("string", "io.debezium.time.ZonedTimestamp"),
    "list": _field("array", items=_INT),
    "map": _field("map", keys={"type": "string"}, values=_INT),
    "pairs": _field("map", keys={"type": "int16"}, values=_INT),
    "sparse": _field(
        "struct",
        "io.debezium.data.SparseDoubleVector",
        fields=[
            {"type": "int16", "optional": False, "field": "dimensions"},
            {
                "type": "map",
                "keys": {"type": "int16", "optional": False},
                "values": {"type": "double", "optional": False},
                "optional": False,
                "field": "vector",
            },
        ],
    ),
    "point": _field(
        "struct", fields=[{**_field("double"), "field": "x"}, {**_INT, "field": "srid"}]
    ),
}

NUMBERS = {
    "int8_of_16_bits": _bad("tiny", "300"),
    "int8_least": _kept("tiny", "-128", -128),
    "int16_of_32_bits": _bad("small", "40000"),
    "int32_of_33_bits": _bad("int", "2147483648"),
    "int64_of_65_bits": _bad("long", "9223372036854775808"),
    "int64_of_30_digits": _bad("long", "1" * 30),
    "int64_least": _kept("long", "-9223372036854775808", -(2**63)),
    "int_fraction": _bad("int", "1.5"),
    "int_whole_fraction": _bad("int", "1.0"),
    "int_text": _bad("int", '"12"'),
    "int_word": _bad("int", '"twelve"'),
    "int_flag": _bad("int", "true"),
    "int_object": _bad("int", '{"a":1}'),
    "int_1e400": _bad("int", "1e400"),
    "double_1e400": _bad("double", "1e400"),
    "double_minus_1e400": _bad("double", "-1e400"),
    "double_text": _bad("double", '"12"'),
    "double_flag": _bad("double", "false"),
    "double_nan": _kept("double", '"NaN"', math.nan),
    "double_infinity": _kept("double", '"Infinity"', math.inf),
    "double_whole": _kept("double", "12", 12.0),
    "double_17_digits": _kept("double", "0.30000000000000004", 0.30000000000000004),
    "double_minus_zero": _kept("double", "-0.0", -0.0),
    "double_minus_zero_behind_a_space": _kept("double", " -0.0", -0.0),
    "float_minus_zero": _kept("float", "-0.0", -0.0),
    "float_minus_zero_on_a_line": _kept("float", "\n-0.0\n", -0.0),
    "float_1e39": _bad("float", "1e39"),
    "flag_text": _bad("flag", '"true"'),
    "flag_number": _bad("flag", "1"),
    "decimal_too_wide": _bad("money", '"AYag"'),
    "decimal_no_base64": _bad("money", '"12.34"'),
    "decimal_number": _bad("money", "1234"),
    "decimal_no_bytes": _bad("money", '""'),
    "decimal_of_40_digits": _bad("huge", '"' + "f" * 22 + '=="'),
    "variable_negative_scale": _kept("variable", '{"scale":-2,"value":"AQ=="}', "100"),
    "variable_text": _bad("variable", '"1.5"'),
    "variable_empty": _bad("variable", "{}"),
}

OTHERS = {
    "text_number": _bad("text", "12"),
    "text_flag": _bad("text", "true"),
    "text_object": _bad("text", '{"a":1}'),
    "text_empty": _kept("text", '""', ""),
    "text_nul": _kept("text", '"a\\u0000b"', "a\0b"),
    "text_right_to_left": _kept("text", '"\u202e\u05e9"', "\u202e\u05e9"),
    "text_emoji": _kept("text", '"\\ud83d\\ude00"', "😀"),
    "text_markup": _kept("text", '"</script>\'; DROP TABLE x --"', "</script>'; DROP TABLE x --"),
    "bytes_no_base64": _bad("bytes", '"%%%"'),
    "bytes_number": _bad("bytes", "1234"),
    "bytes_none": _kept("bytes", '""', b""),
    "date_last": _kept("date", "2932896", date(9999, 12, 31)),
    "date_behind_last": _bad("date", "2932897"),
    "date_before_first": _bad("date", "-719163"),
    "date_infinity": _bad("date", "-2147472692"),
    "date_text": _bad("date", '"2024-01-01"'),
    "timestamp_last": _kept(
        "micros",
        "253402300799999999",
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
    ),
    "timestamp_year_294276": _bad("micros", "9224318015999999999"),
    "timestamp_infinity": _bad("micros", "9223372036825200000"),
    "zoned_last": _kept(
        "zoned", '"9999-12-31T23:59:59Z"', datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    ),
    "zoned_six_digits": _kept(
        "zoned",
        '"2024-01-01T10:00:00.123456000Z"',
        datetime(2024, 1, 1, 10, 0, 0, 123456, tzinfo=UTC),
    ),
    "zoned_nine_digits": _bad("zoned", '"2024-01-01T10:00:00.123456789Z"'),
    "zoned_infinity": _bad("zoned", '"infinity"'),
    "zoned_zero_date": _bad("zoned", '"0000-00-00T00:00:00Z"'),
    "zoned_number": _bad("zoned", "1704067200"),
    "list_object": _bad("list", '{"0":1}'),
    "list_text_inside": _bad("list", '[1,"two"]'),
    "list_too_large_inside": _bad("list", "[1,2147483648]"),
    "list_null_inside": _kept("list", "[1,null]", [1, None]),
    "map_list": _bad("map", "[1]"),
    "map_word_inside": _bad("map", '{"a":"one"}'),
    "pairs_of_numbers": _kept("pairs", "[[1,2],[-3,null]]", [(1, 2), (-3, None)]),
    "pairs_none": _kept("pairs", "[]", []),
    "pairs_object": _bad("pairs", '{"1":2}'),
    "pairs_text": _bad("pairs", '"[[1,2]]"'),
    "pairs_key_twice": _bad("pairs", "[[1,2],[1,3]]"),
    "sparse_vector": _kept(
        "sparse",
        '{"dimensions":5,"vector":[[1,1.5],[5,-2.0]]}',
        {"dimensions": 5, "vector": [(1, 1.5), (5, -2.0)]},
    ),
    "sparse_object": _bad("sparse", '{"dimensions":5,"vector":{"1":1.5}}'),
    "sparse_word_inside": _bad("sparse", '{"dimensions":5,"vector":[[1,"one"]]}'),
    "struct_text": _bad("point", '"POINT(1 2)"'),
    "struct_word_inside": _bad("point", '{"x":"one","srid":4326}'),
    "struct_member_absent": _kept("point", '{"x":1.5}', {"x": 1.5, "srid": None}),
}

VALUES = {**NUMBERS, **OTHERS}
