"""Decimals as Kafka Connect sends them: two's complement bytes in Base64, and a scale.

In: SQL that gives a token. Out: SQL that gives the number, as decimal or, where that holds no such
number, as text.
"""

from __future__ import annotations

import re

from lakehouse.plan.schemas.types import ValueType
from lakehouse.spark.decoding.long_decimals import MOST_HEX_DIGITS, decimal_digits
from lakehouse.spark.sql import let, literal

_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DIGITS = "0123456789ABCDEF"
_INVERSION = f"{literal(_DIGITS)}, {literal(_DIGITS[::-1])}"
_HEX_DIGITS = 32
_WORD = 8


def exact_decimal(text: str, kind: ValueType) -> str:
    """A number as decimal, NULL where a cast would round it; empty where that is not the type."""
    found = _DECIMAL.fullmatch(kind.spark)
    if found is None:
        return ""
    longest = f"decimal(38,{38 - int(found[1]) + int(found[2])})"
    is_exact = f"try_cast(number AS {kind.spark}) = try_cast(number AS {longest})"
    return let("number", text, f"if({is_exact}, try_cast(number AS {kind.spark}), NULL)")


def decimal_of(token: str, kind: ValueType) -> str:
    """A decimal whose schema tells its scale."""
    number = f"try_to_binary({token}, 'base64')"
    if kind.spark == "string":
        return _long_decimal(number, str(kind.scale))
    text = let(
        "number", unscaled(number), _with_point(*_sign_and_digits("number"), str(kind.scale))
    )
    return f"try_cast({text} AS {kind.spark})"


def variable_decimal(token: str, kind: ValueType) -> str:
    """A decimal that is sent with its scale (`VariableScaleDecimal`)."""
    digits = _long_decimal("try_to_binary(parts.value, 'base64')", "parts.scale")
    text = let("parts", f"from_json({token}, 'scale int, value string')", digits)
    return exact_decimal(text, kind) or text


def _long_decimal(number: str, scale: str) -> str:
    """A number of any length as text; most have a length for which there is a quicker way."""
    short = let("number", unscaled(number), _with_point(*_sign_and_digits("number"), scale))
    sign = "if(substring(hexa, 1, 1) >= '8', '-', '')"
    inverted = f"translate(hexa, {_INVERSION})"
    magnitude = f"if({sign} = '-', {inverted}, hexa)"
    digits = let("m", magnitude, decimal_digits("m", f"{sign} = '-'"))
    long = _with_point(sign, digits, scale)
    # A number of as many bytes as the quick way takes may have one digit too many for it.
    fits = f"length(hexa) BETWEEN {_HEX_DIGITS} AND {MOST_HEX_DIGITS}"
    return f"coalesce({short}, {let('hexa', f'hex({number})', f'if({fits}, {long}, NULL)')})"


def _sign_and_digits(number: str) -> tuple[str, str]:
    # Spark's abs() of a decimal rounds to 34 digits, so the sign goes as text.
    return f"if({number} < 0, '-', '')", f"translate(CAST({number} AS string), '-', '')"


def unscaled(number: str) -> str:
    """Big-endian two's complement as decimal(38,0); NULL beyond 38 digits."""
    positive = _unsigned(f"lpad(digits, {_HEX_DIGITS}, '0')")
    inverted = f"translate(digits, {_INVERSION})"
    below = _unsigned(f"lpad({inverted}, {_HEX_DIGITS}, '0')")
    magnitude = f"try_add({below}, {whole_number('1')})"
    below_zero = f"try_subtract({whole_number('0')}, {magnitude})"
    value = f"if(substring(digits, 1, 1) >= '8', {below_zero}, {positive})"
    fits = f"length(digits) BETWEEN 2 AND {_HEX_DIGITS}"
    return let("digits", f"hex({number})", f"if({fits}, {value}, NULL)")


def _unsigned(digits: str) -> str:
    words = [
        whole_number(f"conv(substring(word, {1 + start}, {_WORD}), 16, 10)")
        for start in range(0, _HEX_DIGITS, _WORD)
    ]
    total = words[0]
    for word in words[1:]:
        total = f"try_add(try_multiply({total}, {whole_number(str(2**32))}), {word})"
    return let("word", digits, total)


def whole_number(text: str) -> str:
    """A number as decimal(38,0), to count without rounding."""
    return f"CAST({text} AS decimal(38,0))"


def _with_point(sign: str, digits: str, scale: str) -> str:
    length = f"greatest(length(d), greatest({scale}, 0) + 1)"
    text = (
        f"concat({sign}, "
        f"substring(p, 1, length(p) - greatest({scale}, 0)), "
        f"if({scale} < 0, repeat('0', -({scale})), ''), "
        f"if({scale} > 0, concat('.', right(p, greatest({scale}, 0))), ''))"
    )
    padded = let("p", f"lpad(d, {length}, '0')", text)
    return let("d", digits, padded)
