"""Text of any origin as pages and commands show it."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime

MAX_TEXT = 500


def shown(value: object, limit: int = MAX_TEXT) -> str:
    """Any value as text for a person: cut to a length, steering characters spelled out."""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    rest = len(text) - limit
    cut = text[:limit]
    visible = without_steering(cut)
    return f"{visible} … ({rest} more characters)" if rest > 0 else visible


def without_steering(text: str) -> str:
    """The text with control, format and surrogate characters as their numbers."""
    return text.translate(_VISIBLE)


def utc_text(time: datetime) -> str:
    """A time as documents have it."""
    return time.isoformat(timespec="seconds")


def minute_text(time: datetime) -> str:
    """A time as pages show it."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def time_text(document: str) -> str:
    """A time out of a document, as pages show it; other text as it may be shown."""
    try:
        return minute_text(datetime.fromisoformat(document))
    except ValueError:
        return shown(document)


class _Visible(dict[int, str]):
    """What each character becomes: what steers direction or terminal, or fits no file, its number.

    Characters are looked at when they are first met.
    """

    def __missing__(self, number: int) -> str:
        character = chr(number)
        hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs") and character not in "\n\t"
        self[number] = f"\\u{number:04x}" if hidden else character
        return self[number]


_VISIBLE = _Visible()
