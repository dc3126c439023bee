"""Text of canonical values, and digests of it: equal texts for equal values, and for no others.

In: forms of `canonical`. Out: text that two processes make alike, and what names a row in 16 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import singledispatch

from lakehouse.plan.reconciling.canonical import Canonical, canonical

DIGEST_BYTES = 16
_COLUMN_BYTES = 8
# Larger and smaller numbers are written with an exponent: a document may hold 1e999999999.
_MOST_DIGITS = 400
_MOST = 10 ** (_MOST_DIGITS - 1)
_NULL = b"n"


def value_text(value: object, kind: str, doc: str = "") -> bytes:
    """The text of a value; of one that is none of its kind, text that no other value has.

    Args:
        value: As the database's client or Arrow gives it.
        kind: See `canonical`.
        doc: The silver column's doc, which names the unit of times of day.
    """
    if value is None:
        return _NULL
    try:
        form = canonical(value, kind, doc)
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError):
        # A damaged value is a difference, and no reason to stop.
        return b"?" + repr(value).encode("utf-8", "backslashreplace")
    return _text(form).encode("utf-8", "backslashreplace")


def digest(texts: Iterable[bytes]) -> bytes:
    """What names a list of texts: 16 bytes."""
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for text in texts:
        found.update(b"%d:" % len(text))
        found.update(text)
    return found.digest()


def column_digest(text: bytes) -> bytes:
    """What names a value of one column: 8 bytes."""
    return hashlib.blake2b(text, digest_size=_COLUMN_BYTES).digest()


@singledispatch
def _text(value: object) -> str:
    raise ValueError(f"{value!r}: expected a canonical value")


@_text.register
def _(value: bool) -> str:  # noqa: FBT001 - a value of a row
    return "t" if value else "f"


@_text.register
def _(value: int) -> str:
    return f"#{value}" if -_MOST < value < _MOST else _text(Decimal(value))


@_text.register
def _(value: float) -> str:
    return f"#{int(value) if value.is_integer() else value!r}"


@_text.register
def _(value: Decimal) -> str:
    if not value:
        return "#0"
    if abs(value.adjusted()) < _MOST_DIGITS:
        text = f"{value:f}"
        return f"#{text.rstrip('0').rstrip('.') if '.' in text else text}"
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    bare = text.rstrip("0")
    return f"#{'-' if sign else ''}{bare}e{int(exponent) + len(text) - len(bare)}"


@_text.register
def _(value: str) -> str:
    return f"s{len(value)}:{value}"


@_text.register
def _(_: None) -> str:
    return _NULL.decode()


@_text.register
def _(value: bytes) -> str:
    return f"x{value.hex()}"


@_text.register
def _(value: datetime) -> str:
    return f"m{value.isoformat()}"


@_text.register
def _(value: date) -> str:
    return f"d{value.isoformat()}"


@_text.register(list)
@_text.register(tuple)
def _(value: Sequence[Canonical]) -> str:
    return f"[{','.join(map(_text, value))}]"


@_text.register(dict)
def _(value: Mapping[str, Canonical]) -> str:
    return f"{{{','.join(f'{_text(name)}={_text(value[name])}' for name in sorted(value))}}}"
