"""The files with rules that a TOML file names, read beside it.

In: the tables of a TOML file. Out: the same with every rule in them, so that jobs, which read no
file, are given all of it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePath

from pydantic import ValidationError

from lakehouse.config.contracts import read_contract
from lakehouse.config.rules import OwnRule
from lakehouse.errors import ConfigError


def with_rules(tables: object, origin: Path) -> object:
    """The tables with the rules of their files.

    Args:
        tables: What the TOML file has below `tables`, right or wrong.
        origin: The TOML file.

    Raises:
        ConfigError: A file is missing or wrong.
    """
    if not isinstance(tables, Mapping):
        return tables
    return {name: _with_files(name, table, origin) for name, table in tables.items()}


def _with_files(name: str, table: object, origin: Path) -> object:
    if not isinstance(table, Mapping):
        return table
    if "not_judged" in table:
        raise ConfigError(f'{origin}: tables."{name}".not_judged: expected no such key')
    rules: list[object] = []
    left: tuple[str, ...] = ()
    if isinstance(file := table.get("contract"), str):
        path, document = _read(origin, f'tables."{name}".contract', file)
        contract = read_contract(document, name, str(path))
        rules += [_checked(rule, f"{path}: rule {rule['name']!r}") for rule in contract.rules]
        left = contract.not_judged
    if isinstance(file := table.get("expectations"), str):
        path, document = _read(origin, f'tables."{name}".expectations', file)
        listed = document.get("rules") if isinstance(document, Mapping) else None
        if not isinstance(listed, list):
            raise ConfigError(f"{path}: expected a list of rules under the key rules")
        rules += [_checked(rule, f"{path}: rules[{index}]") for index, rule in enumerate(listed)]
    own = table.get("rules") or []
    if not rules and not left:
        return table
    return {**table, "rules": [*own, *rules] if isinstance(own, list) else own, "not_judged": left}


def _read(origin: Path, key: str, file: str) -> tuple[Path, object]:
    """A file beside the TOML file: errors quote what is read, which is nobody's secret there."""
    named = PurePath(file)
    if named.is_absolute() or ".." in named.parts or not file.isprintable():
        raise ConfigError(
            f"{origin}: {key}: {file!r}: expected the name of a file in {str(origin.parent)!r}, "
            'beside the TOML file, such as "orders.rules.toml"'
        )
    path = origin.parent / named
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as broken:
        raise ConfigError(
            f"{origin}: {key}: {file!r}: expected a readable UTF-8 file beside it: {broken}"
        ) from broken
    return path, _document(path, text)


def _document(path: Path, text: str) -> object:
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as broken:
            raise ConfigError(f"{path}: expected valid TOML: {broken}") from broken
    import yaml  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as broken:
        raise ConfigError(f"{path}: expected valid YAML: {broken}") from broken


def _checked(rule: object, place: str) -> object:
    try:
        OwnRule.model_validate(rule)
    except ValidationError as wrong:
        error = wrong.errors(include_url=False)[0]
        key = ".".join(str(part) for part in error["loc"])
        field = OwnRule.model_fields.get(key)
        known = (field.description if field else "") or f"one of {', '.join(OwnRule.model_fields)}"
        reason = error["msg"].removeprefix("Value error, ")
        said = reason if not key else f"{key}: {error['input']!r:.80}: expected {known}"
        raise ConfigError(f"{place}.{said}") from wrong
    return rule
