"""What a logical type and its options say of one value, as a condition for a bad one.

In: members of a contract's property. Out: conditions in Spark's SQL, true for a bad value and NULL
for none; None for what says nothing that silver could show.
https://bitol-io.github.io/open-data-contract-standard/latest/schema/#logical-type-options
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakehouse.config.contract_values import literal

# Logical type → how Spark names the types that hold it; a time of day is a number of its unit.
TYPES = {
    "string": "string",
    "integer": "tinyint|smallint|int|bigint|decimal\\([0-9]+,0\\)",
    "number": "tinyint|smallint|int|bigint|float|double|decimal.*",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp|timestamp_ntz",
    "time": "int|bigint|string",
    "array": "array.*",
    "object": "struct.*|map.*",
}
_OPTIONS = {
    "minimum": "{column} < {value}",
    "maximum": "{column} > {value}",
    "exclusiveMinimum": "{column} <= {value}",
    "exclusiveMaximum": "{column} >= {value}",
    "multipleOf": "{column} % {value} <> 0",
    "minLength": "length({column}) < {value}",
    "maxLength": "length({column}) > {value}",
    "pattern": "NOT {column} RLIKE {value}",
    "minItems": "size({column}) < {value}",
    "maxItems": "size({column}) > {value}",
}
_BYTE = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# Format of a string → the texts that have it.
_FORMATS: Mapping[str, str] = {
    "uuid": "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    "email": r"[^@\s]+@[^@\s]+\.[^@\s.]+",
    "uri": r"[A-Za-z][A-Za-z0-9+.-]*:\S+",
    "hostname": rf"{_LABEL}(\.{_LABEL})*\.?",
    "ipv4": rf"{_BYTE}(\.{_BYTE}){{3}}",
    "ipv6": "(?=.*:.*:)[0-9a-fA-F:.]{2,45}",
}
# Format of an integer: its sign and its bits.
_BITS = re.compile(r"([iu])(8|16|32|64|128)")


def wrong_type(kind: str, column: str) -> str:
    """True where the column is of another type; `kind` is one of TYPES."""
    return f"NOT typeof({column}) RLIKE {literal(f'^({TYPES[kind]})$')}"


def bad_value(option: str, value: object, kind: object, column: str) -> str | None:
    """The condition for a bad value.

    Args:
        option: A member of `logicalTypeOptions`.
        value: What it has.
        kind: The logical type.
        column: The quoted column.
    """
    # The time of day is a number in silver, and no text to compare with.
    if kind == "time":
        return None
    if option in _OPTIONS:
        return _OPTIONS[option].format(column=column, value=literal(value))
    if option == "uniqueItems":
        distinct = f"size(array_distinct({column})) < size({column})"
        return distinct if value is True else "false"
    if option == "format" and kind == "string" and value in _FORMATS:
        # Java's `$` would let a line break follow.
        whole = rf"^({_FORMATS[str(value)]})\z"
        return f"NOT {column} RLIKE {literal(whole)}"
    if option == "format" and kind in ("integer", "number"):
        return _out_of_range(str(value), column)
    return None


def _out_of_range(name: str, column: str) -> str | None:
    found = _BITS.fullmatch(name)
    if found is None:
        return None
    bits = int(found[2]) - (found[1] == "i")
    low = -(2**bits) if found[1] == "i" else 0
    # More digits than a literal of a decimal can have bound nothing that silver holds.
    return f"{column} NOT BETWEEN {low} AND {2**bits - 1}" if bits <= 64 else "false"
