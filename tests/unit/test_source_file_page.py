"""The page about TOML files has every key, with the default that holds."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from lakehouse.config import SourceConfig, parse_source
from lakehouse.config.source import FROM_THE_LOADER
from lakehouse.config.table_sections import ColumnConfig, TableConfig

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "source-file.md"
_ROW = re.compile(r"^\| `([^`]+)` \|(.*?)\|", re.MULTILINE)
# What the page says in words, or the loader sets.
_NOT_KEYS = {*FROM_THE_LOADER, "tables"}


def keys_of(model: type[BaseModel], before: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if name in _NOT_KEYS:
            continue
        if name == "columns":
            yield from keys_of(ColumnConfig, f"{before}columns.<column>.")
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from keys_of(kind, f"{before}{name}.")
        else:
            yield before + name


def rows() -> tuple[dict[str, str], dict[str, str]]:
    """Key → default, of the source and of a table."""
    source, table = _PAGE.read_text(encoding="utf-8").split("Below `[tables.")
    return dict(_ROW.findall(source)), dict(_ROW.findall(table))


def test_the_page_has_every_key_and_no_other() -> None:
    of_source, of_table = rows()
    assert set(of_source) == set(keys_of(SourceConfig))
    assert set(of_table) == set(keys_of(TableConfig))


def told(default: str) -> list[object]:
    """The values that the page names, as a source has them in JSON."""
    texts = (text.replace("<prefix>", "shop") for text in re.findall(r"`([^`]+)`", default))
    values = [tomllib.loads(f"a = {text.replace('<source>', 'sample')}")["a"] for text in texts]
    return [f"{v:%Y-%m-%dT%H:%M:%SZ}" if isinstance(v, datetime) else v for v in values]


@pytest.mark.parametrize("connector", ["postgresql", "mysql", "db2"])
def test_the_defaults_of_the_page_hold(connector: str) -> None:
    text = f'connector = "{connector}"\ntopic_prefix = "shop"'
    source = json.loads(parse_source(text, "sample").model_dump_json())
    for key, default in rows()[0].items():
        if key in {"connector", "topic_prefix"}:
            continue
        value = source
        for name in key.split("."):
            value = value[name]
        assert value in (told(default) or [None]), key
