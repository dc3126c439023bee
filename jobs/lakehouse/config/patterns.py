"""Regular expressions of persons, refused where a value of another person may take them ages.

Neither Python's engine nor Java's has an end to its tries. What costs most is refused: a repetition
of what repeats by itself, such as `(a+)+`. That is a bound on mistakes and no proof; `.*a.*b.*c`
is slow over a long text as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

MOST_CHARACTERS = 1000
# Escapes and classes, in which all else is a character; what opens and closes groups, and repeats.
_PART = re.compile(
    r"(?P<text>\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\\.|[^]\\])*\])|(?P<open>\()|(?P<close>\))"
    r"|(?P<endless>[*+]|\{\d*,\})|(?P<often>\{(?:\d*,)?\d{2,}\})",
    re.DOTALL,
)


def slowness(pattern: str) -> str | None:
    """Why a regular expression is refused, with what to do; None where it is not."""
    if len(pattern) > MOST_CHARACTERS:
        return f"it has {len(pattern)} characters: expected {MOST_CHARACTERS} at most"
    found = next(_repeated_repetitions(pattern), None)
    if found is None:
        return None
    return (
        f"{found!r} repeats what repeats by itself, which may take for ever: repeat one of both, "
        "as 'a+' or '[a-z.]*'"
    )


def slow_pattern(condition: exp.Expr) -> str | None:
    """Why a condition is refused for a regular expression that stands in it."""
    from sqlglot import exp  # noqa: PLC0415 - see `rules.read_columns`

    kinds = (exp.RegexpLike, exp.RegexpILike, exp.RegexpReplace, exp.RegexpExtract)
    for call in condition.find_all(*kinds, exp.RegexpExtractAll, exp.RegexpCount, exp.RegexpInstr):
        if reason := slowness(call.expression.name):
            return reason
    return None


def _repeated_repetitions(pattern: str) -> Iterator[str]:
    """The groups that hold an endless repetition and are repeated, up to that."""
    begins, holds = [0], [False]
    closed = (-1, 0)  # Where the last group that holds one ends, and where it begins.
    for part in _PART.finditer(pattern):
        if part["open"]:
            begins.append(part.start())
            holds.append(False)
        elif part["close"] and len(begins) > 1:
            begin, inner = begins.pop(), holds.pop()
            holds[-1] |= inner
            closed = (part.end(), begin) if inner else closed
        elif part["endless"] or part["often"]:
            if closed[0] == part.start():
                yield pattern[closed[1] : part.end()]
            holds[-1] |= bool(part["endless"])
