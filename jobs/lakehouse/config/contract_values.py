"""Values of a data contract, checked as they are read, and as literals of Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from lakehouse.errors import ConfigError

Document: TypeAlias = Mapping[str, object]


def rule(name: str, description: str, **more: object) -> Document:
    """A rule as a TOML file writes it; several may have one name until they are numbered.

    Args:
        name: For a person; the rule's name has its letters and digits.
        description: What holds when it passes.
        more: What is expected.
    """
    short = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    sentence = description if description.endswith(".") else f"{description}."
    return {"name": short, "description": sentence, **more}


def literals(values: object) -> str:
    """The values of a list, or one value, with commas between them; NULL is in no list."""
    listed: Iterable[object] = values if isinstance(values, list) else [values]
    return ", ".join(literal(value) for value in listed if value is not None)


def literal(value: object) -> str:
    """A value of the YAML as a literal of Spark's SQL."""
    if isinstance(value, bool) or value is None:
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def flag(holder: Document, key: str, place: str) -> bool:
    """A member that is true or false, and false where it is not there.

    Raises:
        ConfigError: It is something else.
    """
    value = holder.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{place}.{key}: {value!r}: expected true or false")
    return value


def mapping(value: object, place: str) -> Document:
    """A value that has members.

    Raises:
        ConfigError: It has none.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place}: {value!r:.80}: expected a table of keys")
    return value


def list_of(holder: Document, key: str, place: str) -> Sequence[object]:
    """A member that is a list, and an empty one where it is not there.

    Raises:
        ConfigError: It is something else.
    """
    value = holder.get(key) or []
    if not isinstance(value, list):
        raise ConfigError(f"{place}.{key}: {value!r:.80}: expected a list")
    return value
