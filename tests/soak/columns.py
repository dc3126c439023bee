"""What a generated column is, and how values of types that all databases have are drawn.

A draw gives what the database's client takes as a bound parameter. Only values are drawn that
survive the wire; those that do not are the closed list of `unsurviving`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random

Draw = Callable[[Random], object]

_LETTERS = "abc XYZ019_-,;:'\"\\/%{}[]()<>\n\t\r\x7fäßñ€恵子é\u0301\u200b😀𐍈"
# A text that is no placeholder, though it looks like one.
_WORDS = ("", " ", "NULL", "null", "__debezium_unavailable_value_", "0", "\\N", "a" * 300)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of a database.

    Attributes:
        sql: As `CREATE TABLE` has it.
        draw: A value that survives the wire, never null.
        bound: The parameter's place in a statement.
    """

    sql: str
    draw: Draw
    bound: str = "%s"


def choice(*values: object) -> Draw:
    return lambda random: random.choice(values)


def whole(low: int, high: int) -> Draw:
    """Whole numbers of any size, the bounds more often than others."""

    def draw(random: Random) -> int:
        if random.random() < 0.2:
            return random.choice((low, high, max(0, low)))
        size = random.randrange(1, high.bit_length() + 1)
        return max(low, min(high, random.choice((1, -1)) * random.getrandbits(size)))

    return draw


def decimals(precision: int, scale: int) -> Draw:
    draw_whole = whole(1 - 10**precision, 10**precision - 1)
    return lambda random: Decimal(f"{draw_whole(random)}E-{scale}")


def doubles(limit: int) -> Draw:
    """Doubles of every size up to 10 to the power of `limit`, and simple ones."""

    def draw(random: Random) -> float:
        kind = random.randrange(4)
        if kind == 0:
            return float(random.randrange(-1000, 1000))
        if kind == 1:
            return random.randrange(-10_000, 10_000) / 100
        return random.choice((1, -1)) * random.random() * 10.0 ** random.randrange(-limit, limit)

    return draw


def singles(random: Random) -> float:
    """Any finite 32 bit float but -0.0."""
    while True:
        (number,) = struct.unpack("f", random.getrandbits(32).to_bytes(4, "little"))
        if number - number == 0 and number != 0:
            return number


def texts(longest: int, letters: str = _LETTERS) -> Draw:
    def draw(random: Random) -> str:
        if random.random() < 0.15:
            word = random.choice(_WORDS)
            return word[:longest]
        return "".join(random.choices(letters, k=random.randrange(min(longest, 40) + 1)))

    return draw


def long_texts(random: Random) -> str:
    """Texts of 3 to 9 kB that hardly compress: PostgreSQL keeps them out of line."""
    return "".join(f"{random.getrandbits(64):016x}é" for _ in range(random.randrange(200, 500)))


def blobs(longest: int) -> Draw:
    return lambda random: random.randbytes(random.choice((0, 1, random.randrange(longest + 1))))


def fixed_blobs(length: int) -> Draw:
    return lambda random: random.randbytes(length)


def dates(first: date, last: date) -> Draw:
    def draw(random: Random) -> date:
        days = (last - first).days
        return first + timedelta(days=random.choice((0, days, random.randrange(days))))

    return draw


def datetimes(first: datetime, last: datetime, digits: int) -> Draw:
    """Times with so many digits behind the second, the bounds included."""

    def draw(random: Random) -> datetime:
        span = (last - first) // _MICROSECOND
        count = random.choice((0, span, random.randrange(span)))
        unit = 10 ** (6 - digits)
        return first + timedelta(microseconds=count // unit * unit)

    return draw


def clock_times(low_s: int, high_s: int, digits: int) -> Draw:
    """Text such as `-12:00:00.125` in whole seconds of `[low, high]` and digits behind them."""

    def draw(random: Random) -> str:
        second = random.choice((low_s, high_s, 0, random.randrange(low_s, high_s)))
        text = f"{abs(second) // 3600:02}:{abs(second) // 60 % 60:02}:{abs(second) % 60:02}"
        inside = low_s < second < high_s
        fraction = random.randrange(10**digits) if digits and inside else 0
        sign = "-" if second < 0 else ""
        return f"{sign}{text}.{fraction:0{digits}}" if digits else f"{sign}{text}"

    return draw


def json_texts(random: Random) -> str:
    """JSON whose numbers every connector sends as the same number."""
    word = texts(12, 'ab \\"/é恵😀')(random).replace("\\", "\\\\").replace('"', '\\"')
    number = random.choice(("0", "-1", "9007199254740993", "1.5", "-0.25", "1e2", "123456.789"))
    return random.choice(
        (
            "{}",
            "[]",
            f'{{"b": {number}, "a": [1, null, true, "{word}"]}}',
            f'{{"{word or "k"}": {{"deep": [[{number}], {{"x": false}}]}}}}',
            f'["{word}", {number}]',
        )
    )


def sequence_text(draw: Draw, show: Callable[[object], str] = str) -> Draw:
    """PostgreSQL's text of an array: empty, or with null elements, or with values."""

    def element(random: Random) -> str:
        if random.random() < 0.15:
            return "NULL"
        text = show(draw(random)).replace("\\", "\\\\").replace('"', '\\"')
        return f'"{text}"'

    def whole_array(random: Random) -> str:
        return "{" + ",".join(element(random) for _ in range(random.randrange(4))) + "}"

    return whole_array
