"""Whole numbers that no type of Spark holds, as their decimal digits, as text of Spark SQL.

In: hexadecimal digits of a magnitude. Out: its decimal digits. MySQL's decimals have up to 65
digits, PostgreSQL's more; a number is kept as limbs of 18 decimal digits, the lowest first, and
taken in 32 bits at a time, so that every product fits into decimal(38,0).
"""

from __future__ import annotations

from lakehouse.spark.sql import literal

MOST_HEX_DIGITS = 4096
"""About 4,900 decimal digits; the time that a number takes grows with the square of its length."""

_LIMB_DIGITS = 18
_WORD_DIGITS = 8
_WHOLE = "decimal(38,0)"
_LIMB = f"CAST({literal('1' + '0' * _LIMB_DIGITS)} AS {_WHOLE})"
_WORD = f"CAST({2 ** (4 * _WORD_DIGITS)} AS {_WHOLE})"
_STATE = f"struct<done:array<{_WHOLE}>,carry:{_WHOLE}>"


def decimal_digits(magnitude: str, one_more: str) -> str:
    """The decimal digits of a magnitude, plus one where `one_more` is true.

    Args:
        magnitude: SQL of upper-case hexadecimal digits, at most `MOST_HEX_DIGITS`.
        one_more: SQL of a condition: the last step of negating a two's complement.
    """
    size = f"CAST(ceil(length({magnitude}) / {_WORD_DIGITS}) AS int)"
    padded = f"lpad({magnitude}, {size} * {_WORD_DIGITS}, '0')"
    word = f"substring({padded}, at * {_WORD_DIGITS} + 1, {_WORD_DIGITS})"
    words = f"transform(sequence(0, {size} - 1), at -> CAST(conv({word}, 16, 10) AS {_WHOLE}))"
    zero = f"array(CAST(0 AS {_WHOLE}))"
    limbs = f"aggregate({words}, {zero}, (limbs, word) -> {_step('limbs', _WORD, 'word')})"
    more = f"CAST(if({one_more}, 1, 0) AS {_WHOLE})"
    text = (
        f"array_join(transform(reverse(limbs), limb -> lpad(CAST(limb AS string), "
        f"{_LIMB_DIGITS}, '0')), '')"
    )
    total = _step("limbs", f"CAST(1 AS {_WHOLE})", more)
    digits = f"transform(array({total}), limbs -> {text})[0]"
    trimmed = f"transform(array(trim(LEADING '0' FROM {digits})), d -> if(d = '', '0', d))[0]"
    return f"transform(array({limbs}), limbs -> {trimmed})[0]"


def _step(limbs: str, factor: str, addend: str) -> str:
    """`limbs * factor + addend`, as limbs."""
    product = f"transform(array(limb * {factor} + state.carry), p -> {_split('p')})[0]"
    begin = f"CAST(named_struct('done', array(), 'carry', {addend}) AS {_STATE})"
    end = "if(state.carry > 0, concat(state.done, array(state.carry)), state.done)"
    return f"aggregate({limbs}, {begin}, (state, limb) -> {product}, state -> {end})"


def _split(product: str) -> str:
    rest = f"CAST({product} % {_LIMB} AS {_WHOLE})"
    carry = f"CAST({product} div {_LIMB} AS {_WHOLE})"
    return (
        f"CAST(named_struct('done', concat(state.done, array({rest})), 'carry', {carry}) "
        f"AS {_STATE})"
    )
