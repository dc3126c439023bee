"""Erasure: one subject's rows, gone from everything that the pipeline keeps of a source table.

In: what a person asks for. Out: the keys as text, the texts that may name them in control tables
and reports, and why an erasure is refused.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from lakehouse.errors import ConfigError, StepFailed

# A run that takes a subject's rows out; it lands nothing.
ERASURE_RUN = "erase__"
# Stands where a control table or a report named a key.
ERASED = "erased"
# The variable in which the application finds what is asked for.
ERASURE = "LAKEHOUSE_ERASURE"
# Each key is looked for in many spellings.
MAX_KEYS = 100


@dataclass(frozen=True, slots=True)
class Erasure:
    """What a person asks for.

    Attributes:
        table: The source table as TOML files write it.
        keys: JSON text of each key as the person gave it: an object or a list.
        person: Who asks.
        forget_key: Whether the delete mark goes too, by which an event that is sent again is known
            to be old.
    """

    table: str
    keys: tuple[str, ...]
    person: str
    forget_key: bool = False

    @classmethod
    def from_json(cls, text: str) -> Erasure:
        """The erasure that `to_json` wrote."""
        given = json.loads(text)
        return cls(**{**given, "keys": tuple(given["keys"])})

    def to_json(self) -> str:
        """As the application reads it from its environment: no process list shows a key."""
        return json.dumps(asdict(self))


def key_values(text: str, columns: tuple[str, ...]) -> tuple[str | None, ...]:
    """The values of a key as text, in the order of its columns.

    Args:
        text: `{"id": 17}` as reports show a key, or `["17"]` as held keys and differences do.
        columns: The columns of the table's key.

    Raises:
        ConfigError: The text is neither, or has other columns.
    """
    if not columns:
        raise ConfigError("--key: the table has no key: expected one whose rows a key names")
    expected = f"expected {{column: value}} or a list of the values of {', '.join(columns)}"
    try:
        given = json.loads(text, parse_float=str)
    except ValueError:
        raise ConfigError(f"--key: no JSON: {expected}") from None
    if isinstance(given, dict) and given.keys() == set(columns):
        given = [given[name] for name in columns]
    if not isinstance(given, list) or len(given) != len(columns):
        raise ConfigError(f"--key: other columns than the table's key: {expected}")
    return tuple(_text(value) for value in given)


def _text(value: object) -> str | None:
    """A value as Spark casts it to text."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Names:
    """The texts by which control tables and reports may name keys, the longest ones first.

    Attributes:
        plain: As a sentence has them.
        in_json: Inside of text in JSON, where what is put in their place leaves JSON.
        in_html: As a page has them.
    """

    plain: tuple[str, ...]
    in_json: tuple[str, ...]
    in_html: tuple[str, ...]


def names_of(keys: Iterable[tuple[str | None, ...]], columns: tuple[str, ...]) -> Names:
    """How keys are named: lists as held keys and differences show them, objects as samples do.

    Args:
        keys: The values of each key as text.
        columns: The columns of the key.
    """
    plain = {_compact(value) for key in keys for value in _shapes(key, columns)}
    once = {_inside(text) for text in plain}
    pages = {each for text in plain | once for each in (html.escape(text), _markup(text))}
    return Names(*map(_longest_first, (plain, once | {_inside(text) for text in once}, pages)))


def _shapes(key: tuple[str | None, ...], columns: tuple[str, ...]) -> Iterator[object]:
    """A key as a list, and as an object whose numbers are numbers or texts."""
    yield list(key)
    texts = dict(zip(columns, key, strict=True))
    yield texts
    yield {name: _number(value) for name, value in texts.items()}


def _number(value: str | None) -> object:
    try:
        return None if value is None else json.loads(value)
    except ValueError:
        return value


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _inside(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _markup(text: str) -> str:
    """As MarkupSafe escapes (https://markupsafe.palletsprojects.com/en/stable/escaping/)."""
    return html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def refuse(table: str, *, live: int, waiting: int) -> None:
    """What the source still has, or what no run has applied yet, is not erased.

    Args:
        table: The source table.
        live: Rows of the keys that silver shows.
        waiting: Messages of the keys behind the newest cut.

    Raises:
        StepFailed: There are some.
    """
    if live:
        raise StepFailed(
            f"Table {table!r}: {live} rows of these keys are in silver: expected none, as silver "
            "equals the source; delete them there, let a run publish that, then erase again"
        )
    if waiting:
        raise StepFailed(
            f"Table {table!r}: {waiting} messages of these keys are landed and not in the newest "
            "cut: expected none; let a run publish them, then erase again"
        )
