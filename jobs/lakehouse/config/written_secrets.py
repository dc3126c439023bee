"""Secrets that a person wrote into a TOML file, found by the names and addresses that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from pydantic import JsonValue

_SECRET = re.compile(
    r"pass(word|wd|phrase)|secret|token|(api|private|access)[_-]?key|credential|authori[sz]ation"
    r"|cookie|webhook",
    re.IGNORECASE,
)
# What names an Airflow connection holds none.
_CONNECTION = re.compile(r"(^|_)conn(ection)?(_id)?$", re.IGNORECASE)
_PARAMETER = re.compile(r"key|sig|sas|code|auth", re.IGNORECASE)
_URL = re.compile(r"[a-z][\w+.-]*://[^\s\"'<>]+", re.IGNORECASE)
# Whoever knows such an address may send.
_HOOK = re.compile(r"\bhooks?\b|webhook", re.IGNORECASE)
_TEMPLATE = re.compile(r"\{\{.*?\}\}")


def refuse_secrets(path: str, value: JsonValue) -> None:
    """Refuse a value that holds a secret, at whatever depth.

    Args:
        path: Where it stands; its last name tells too.
        value: Texts, numbers, lists and tables.

    Raises:
        ValueError: It does. The secret is not shown.
    """
    for place, what in _found(path, value):
        raise ValueError(
            f"{place}: expected no secret in {what}: name an Airflow connection instead"
        )


def _found(path: str, value: JsonValue) -> Iterator[tuple[str, str]]:
    name = path.rpartition(".")[2]
    if _SECRET.search(name) and not _CONNECTION.search(name):
        yield path, "a TOML file"
    elif isinstance(value, Mapping):
        for inner, held in value.items():
            yield from _found(f"{path}.{inner}", held)
    elif isinstance(value, list):
        for index, held in enumerate(value):
            yield from _found(f"{path}[{index}]", held)
    elif isinstance(value, str) and any(_is_secret(url) for url in _URL.findall(_said(value))):
        yield path, "the address (not shown) of a TOML file"


def _said(text: str) -> str:
    """A text without what Airflow fills in later, such as `{{ conn.desk.password }}`."""
    return _TEMPLATE.sub("", text)


def _is_secret(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    names = [name for text in (parts.query, parts.fragment) for name, _ in parse_qsl(text)]
    return (
        bool(parts.username or parts.password)
        or _HOOK.search(parts.netloc + parts.path) is not None
        or any(_SECRET.search(name) or _PARAMETER.fullmatch(name) for name in names)
    )
