"""Placeholders in silver: what stands for an unchanged large value where a value should be.

In: the types of a table's columns. Out: SQL that tells whether a row has one, of any type that the
connectors have one for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakehouse.envelope import (
    PLACEHOLDER,
    PLACEHOLDER_BYTES,
    PLACEHOLDER_HEX,
    PLACEHOLDER_MAP,
    PLACEHOLDER_UUID,
)
from lakehouse.names import quote_ident
from lakehouse.spark.sql import literal

_TEXT, _NUMBERS = literal(PLACEHOLDER), ", ".join(map(str, PLACEHOLDER_BYTES))
_BINARY = f"CAST({_TEXT} AS binary)"
_OF_TYPE: Mapping[str, str] = {
    "string": f"{{}} IN ({_TEXT}, {literal(PLACEHOLDER_HEX)}, {literal(PLACEHOLDER_MAP)})",
    "binary": f"{{}} = {_BINARY}",
    "array<string>": f"arrays_overlap({{}}, array({_TEXT}, {literal(PLACEHOLDER_UUID)}))",
    "array<binary>": f"array_contains({{}}, {_BINARY})",
    "array<int>": f"{{}} = array({_NUMBERS})",
    "array<bigint>": f"{{}} = CAST(array({_NUMBERS}) AS array<bigint>)",
    "array<date>": f"{{}} = transform(array({_NUMBERS}), day -> date_from_unix_date(day))",
    "map<string,string>": f"{{}}[{_TEXT}] = {_TEXT}",
}


def placeholder_tests(types: Mapping[str, str]) -> Iterator[str]:
    """One test for each column that could hold a placeholder.

    Args:
        types: Column → Spark type.
    """
    for name, kind in types.items():
        if kind in _OF_TYPE:
            test = _OF_TYPE[kind].replace("{}", quote_ident(name))
            yield f"coalesce({test}, false)"
