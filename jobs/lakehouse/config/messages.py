"""Turn pydantic's errors into lines that name file, key, value and what was expected."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from lakehouse.config.source import FROM_THE_LOADER, SourceConfig

_LONGEST_VALUE = 80


def explain(wrong: ValidationError | None, origin: str, unknown: Sequence[str] = ()) -> str:
    """One line for each error, in the order of the keys.

    Args:
        wrong: What pydantic found, if anything.
        origin: The file.
        unknown: Top-level keys that only the loader may set.
    """
    lines = [_unknown_key((key,), origin) for key in unknown]
    errors = wrong.errors(include_url=False) if wrong is not None else []
    for error in errors:
        if any(_is_inside(other["loc"], error["loc"]) for other in errors):
            continue  # A list is wrong because its element is: the element says it better.
        if error["loc"][:1] == ("name",):
            lines.append(
                f"{origin}: file name {error['input']!r}: expected {_expectation(error['loc'])}"
            )
        else:
            lines.append(_line(error, origin))
    return "\n".join(dict.fromkeys(lines))


def _is_inside(path: Sequence[str | int], section: Sequence[str | int]) -> bool:
    return len(path) > len(section) and tuple(path[: len(section)]) == tuple(section)


def _line(error: ErrorDetails, origin: str) -> str:
    path = tuple(part for part in error["loc"] if part != "[key]")
    kind = error["type"]
    if kind == "extra_forbidden":
        return _unknown_key(path, origin)
    if kind == "missing":
        return f"{origin}: {_dotted(path)}: missing: expected {_expectation(path)}"
    if kind == "value_error" and _is_section(path):
        # A check over several keys: its message starts with the key below this section.
        detail = error["msg"].removeprefix("Value error, ")
        return f"{origin}: {_dotted(path)}{'.' if path else ''}{detail}"
    expectation = "a key that is a topic name" if "[key]" in error["loc"] else _expectation(path)
    return (
        f"{origin}: {_dotted(path)}: {_shown(error['input'])}: expected {expectation}"
        f"{_reason(error)}"
    )


def _reason(error: ErrorDetails) -> str:
    """What pydantic adds to the description of the field, if that says more than it."""
    if error["type"] != "value_error":
        return ""
    detail = error["msg"].removeprefix("Value error, ")
    return "" if detail.startswith("not a") else f" ({detail})"


def _unknown_key(path: Sequence[str | int], origin: str) -> str:
    model = _type_at(path[:-1])
    known = sorted(_keys(model)) if _is_model(model) else []
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ":"
    match path:
        case ("tables", str(schema), str(table)) if not near and "." not in schema:
            hint = f'; a table is written as [tables."{schema}.{table}"]:'
    return (
        f"{origin}: {_dotted(path)}: unknown key {str(path[-1])!r}{hint} "
        f"expected one of {', '.join(known)}"
    )


def _expectation(path: Sequence[str | int]) -> str:
    """The nearest description on the way to the value."""
    found = "another value"
    for end in range(1, len(path) + 1):
        found = _description_at(path[:end]) or found
    return found


def _description_at(path: Sequence[str | int]) -> str | None:
    holder = _type_at(path[:-1])
    if _is_model(holder):
        field = holder.model_fields.get(str(path[-1]))
        return _field_description(field) if field is not None else None
    arguments = [part for part in get_args(holder) if part is not Ellipsis]
    return _annotated_description(arguments[-1]) if arguments else None


def _field_description(field: FieldInfo) -> str | None:
    if field.description is not None:
        return field.description
    if _is_model(field.annotation):
        return "a table of keys: " + ", ".join(_keys(field.annotation))
    return _annotated_description(field.annotation)


def _annotated_description(annotation: object) -> str | None:
    """The description inside Annotated, also when it is one member of a union with None."""
    if get_origin(annotation) is Annotated:
        for part in get_args(annotation)[1:]:
            if isinstance(part, FieldInfo) and part.description is not None:
                return part.description
    if get_origin(annotation) in (Union, types.UnionType):
        for member in get_args(annotation):
            if (found := _annotated_description(member)) is not None:
                return found
    if get_origin(annotation) is Literal:
        return f"one of {', '.join(str(part) for part in get_args(annotation))}"
    if _is_model(annotation):
        return "a table of keys: " + ", ".join(_keys(annotation))
    return None


def _type_at(path: Sequence[str | int]) -> object:
    """The type of the value that the path leads to, from SourceConfig down."""
    current: object = SourceConfig
    for part in path:
        if _is_model(current):
            field = current.model_fields.get(str(part))
            current = field.annotation if field is not None else None
        elif get_origin(current) in (tuple, Mapping, typing.get_origin(Mapping[str, str])):
            current = [part for part in get_args(current) if part is not Ellipsis][-1]
        while get_origin(current) is Annotated:
            current = get_args(current)[0]
    return current


def _keys(model: type[BaseModel]) -> list[str]:
    """What a TOML file may have there."""
    return [name for name in model.model_fields if name not in FROM_THE_LOADER]


def _is_model(value: object) -> typing.TypeGuard[type[BaseModel]]:
    return isinstance(value, type) and issubclass(value, BaseModel)


def _is_section(path: Sequence[str | int]) -> bool:
    return _is_model(_type_at(path))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _dotted(path: Sequence[str | int]) -> str:
    """The key path as TOML writes it: `tables."public.orders".delete`, `kafka.topics[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        bare = part.replace("_", "").replace("-", "")
        shown = part if bare.isalnum() and bare.isascii() else f'"{part}"'
        text += f".{shown}" if text else shown
    return text
