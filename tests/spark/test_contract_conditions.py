"""Conditions that contracts become: Spark finds each bad value by them, and no good one."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakehouse.config.contract_options import bad_value, wrong_type

TEXT, NUMBER = "string", "bigint"
# Logical type, option, what the contract says, type in silver, good values, bad ones; as SQL.
OPTIONS = [
    ("integer", "minimum", 3, NUMBER, ["3"], ["2"]),
    ("number", "maximum", 2.5, "decimal(9,2)", ["2.5"], ["2.51"]),
    ("number", "exclusiveMinimum", 3, "double", ["3.1"], ["3"]),
    ("integer", "exclusiveMaximum", 3, "int", ["2"], ["3"]),
    ("integer", "multipleOf", 5, NUMBER, ["0", "-10"], ["7"]),
    ("number", "multipleOf", 0.25, "decimal(9,2)", ["0.75"], ["0.80"]),
    ("integer", "format", "u8", NUMBER, ["0", "255"], ["-1", "256"]),
    ("integer", "format", "i64", NUMBER, ["-9223372036854775808"], []),
    ("integer", "format", "u64", "decimal(20,0)", ["18446744073709551615"], ["-1"]),
    ("integer", "format", "i128", NUMBER, ["7"], []),
    ("date", "minimum", "2020-01-01", "date", ["'2020-01-01'"], ["'2019-12-31'"]),
    (
        "timestamp",
        "maximum",
        "2020-01-01T00:00:00Z",
        "timestamp",
        ["'2020-01-01 00:00:00Z'"],
        ["'2020-01-01 00:00:01Z'"],
    ),
    ("string", "minLength", 2, TEXT, ["'ab'"], ["'a'"]),
    ("string", "maxLength", 2, TEXT, ["'ab'"], ["'abc'"]),
    ("string", "pattern", "^\\d+$", TEXT, ["'12'"], ["'1a'"]),
    ("string", "format", "uuid", TEXT, ["'123e4567-e89b-12d3-a456-426614174000'"], ["'123e4567'"]),
    ("string", "format", "email", TEXT, ["'a.b@c.de'"], ["'a@b'", "'a b@c.de'"]),
    ("string", "format", "uri", TEXT, ["'https://a.de/b?c'"], ["'a.de'"]),
    ("string", "format", "hostname", TEXT, ["'a-b.de'"], ["'a_b'", "'-a'"]),
    ("string", "format", "ipv4", TEXT, ["'10.0.0.255'"], ["'10.0.0.256'", "'10.0.0.255\\n'"]),
    ("string", "format", "ipv6", TEXT, ["'fe80::1'", "'::'"], ["'fe80'", "'g::1'"]),
    ("array", "minItems", 2, "array<string>", ["array('a','b')"], ["array('a')"]),
    ("array", "maxItems", 1, "array<string>", ["array('a')"], ["array('a','b')"]),
    ("array", "uniqueItems", True, "array<string>", ["array('a','b')"], ["array('a','a')"]),
    ("array", "uniqueItems", False, "array<string>", ["array('a','a')"], []),
]
# Logical type → types of silver that hold it, and that do not.
TYPES = {
    "string": (["string"], ["int"]),
    "integer": (["int", "bigint", "decimal(20,0)"], ["decimal(9,2)", "string"]),
    "number": (["int", "double", "decimal(9,2)"], ["string"]),
    "boolean": (["boolean"], ["int"]),
    "date": (["date"], ["timestamp"]),
    "timestamp": (["timestamp", "timestamp_ntz"], ["date"]),
    "time": (["bigint"], ["timestamp"]),
    "array": (["array<string>"], ["string"]),
    "object": (["struct<a: int>"], ["string"]),
}


def test_each_option_of_a_logical_type_finds_bad_values_and_no_good_ones(
    spark: SparkSession,
) -> None:
    tests: list[str] = []
    expected: list[bool] = []
    for kind, option, said, spark_type, good, bad in OPTIONS:
        for text in (*good, *bad, "NULL"):
            condition = bad_value(option, said, kind, f"CAST({text} AS {spark_type})")
            assert condition is not None
            tests.append(f"coalesce({condition}, false)")
            expected.append(text in bad)

    found = spark.sql(f"SELECT {', '.join(tests)}").collect()[0]

    wrong = [
        (test, is_bad)
        for test, is_bad, told in zip(tests, expected, found, strict=True)
        if is_bad != told
    ]
    assert wrong == []


def test_each_logical_type_is_told_from_others(spark: SparkSession) -> None:
    cases = [
        (kind, each, is_bad)
        for kind, pair in TYPES.items()
        for is_bad, types in enumerate(pair)
        for each in types
    ]
    tests = [wrong_type(kind, f"CAST(NULL AS {each})") for kind, each, _ in cases]

    found = spark.sql(f"SELECT {', '.join(tests)}").collect()[0]

    assert list(found) == [bool(is_bad) for _, _, is_bad in cases]
