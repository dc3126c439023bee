"""Read TOML files into SourceConfig, and say file, key, value and expectation when one is wrong."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError

from lakehouse.config.fields import SOURCE_NAME, TOPIC_PREFIX
from lakehouse.config.messages import explain
from lakehouse.config.rule_files import with_rules
from lakehouse.config.settings import Settings
from lakehouse.config.source import FROM_THE_LOADER, SourceConfig
from lakehouse.connectors import CONNECTORS, POSTGRESQL
from lakehouse.errors import ConfigError

Toml: TypeAlias = dict[str, object]

# Where the rest of a file is no TOML, its topics are still its own.
_PREFIX_LINE = re.compile(
    r"""^[ \t]*topic_prefix[ \t]*=[ \t]*(["'])(?P<prefix>[^"'\n]+)\1""", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a folder of TOML files says.

    Attributes:
        sources: Those whose files are right, sorted by name.
        refused: What is wrong with the other files, one error each.
    """

    sources: tuple[SourceConfig, ...]
    refused: tuple[ConfigError, ...]


def load_readable(settings: Settings) -> Loaded:
    """The sources whose files are right, and what is wrong with the others.

    Raises:
        ConfigError: If the folder is missing, or a file does not even say its topic prefix: its
            topics could then be taken for those of a source with a shorter one.
    """
    texts = _texts(settings)
    prefixes = _prefixes(texts)
    sources, refused = [], []
    for path, text in texts.items():
        try:
            found = parse_source(text, path.stem, origin=str(path), prefixes=prefixes.values())
        except ConfigError as wrong:
            refused.append(wrong)
        else:
            sources.append(found)
    return Loaded(tuple(sources), tuple(refused))


def load_sources(settings: Settings) -> tuple[SourceConfig, ...]:
    """Every source of the sources folder, sorted by name.

    Raises:
        ConfigError: If the folder is missing, or any file is wrong.
    """
    loaded = load_readable(settings)
    if loaded.refused:
        raise loaded.refused[0]
    return loaded.sources


def load_source(name: str, settings: Settings) -> SourceConfig:
    """The source of one TOML file; other files are only asked for their topic prefix.

    Raises:
        ConfigError: If there is no such source, or its file is wrong.
    """
    texts = _texts(settings)
    found = {path.stem: path for path in texts}
    if name not in found:
        known = ", ".join(sorted(found)) or "none"
        raise ConfigError(
            f"source {name!r}: expected one of the TOML files in {settings.sources}: {known}; "
            f"{_how_to_write(name)}set LAKEHOUSE_SOURCES"
        )
    path = found[name]
    prefixes = _prefixes(texts)
    return parse_source(texts[path], name, origin=str(path), prefixes=prefixes.values())


def parse_source(
    text: str, name: str, *, origin: str = "<text>", prefixes: Iterable[str] = ()
) -> SourceConfig:
    """Read one TOML text.

    Args:
        text: The file's content.
        name: The source's name.
        origin: What errors call the file.
        prefixes: Topic prefixes of all sources; topics of longer ones are not this source's.

    Raises:
        ConfigError: With one line for each thing that is wrong.
    """
    try:
        given: Toml = tomllib.loads(text)
    except tomllib.TOMLDecodeError as broken:
        raise ConfigError(f"{origin}: expected valid TOML: {broken}") from broken
    if "tables" in given:
        given["tables"] = with_rules(given["tables"], Path(origin))
    complete = _with_defaults(given, name, prefixes)
    unknown = tuple(sorted(FROM_THE_LOADER & given.keys()))
    try:
        source = SourceConfig.model_validate_json(json.dumps(complete, default=_as_text))
    except ValidationError as wrong:
        raise ConfigError(explain(wrong, origin, unknown)) from wrong
    if unknown:
        raise ConfigError(explain(None, origin, unknown))
    return source


def _with_defaults(given: Toml, name: str, prefixes: Iterable[str]) -> Toml:
    """The file's values over the defaults that depend on its name, connector and prefix."""
    connector, prefix = given.get("connector"), given.get("topic_prefix")
    # An unknown connector is refused; what its defaults are does not matter.
    rules = CONNECTORS.get(str(connector), POSTGRESQL)
    own = _own_topics(prefix) if rules.own_topics else {}
    defaults: Toml = {
        "epoch": "gtid" if rules.gtids else "manual",
        "schedule": {"start": "2026-01-01T00:00:00Z"},
        "kafka": {"connection": f"kafka_{name}", **own},
        "schema_changes": {},
        "transactions": {"timeout": rules.timeout},
        "snapshot": {},
        "cuts": {"keep": {"all": "24h", "hourly": "7d", "daily": "30d"}},
        "rebuild": {"undo": "7d"},
        "reconcile": {"wait": "15m"},
    }
    longer = sorted(
        {other for other in prefixes if isinstance(prefix, str) and other.startswith(f"{prefix}.")}
    )
    return {**_merged(defaults, given), "name": name, "longer_prefixes": longer}


def _own_topics(prefix: object) -> Toml:
    if not isinstance(prefix, str) or not re.fullmatch(TOPIC_PREFIX, prefix):
        return {"topics": [".*"]}  # The prefix itself is refused; topics need no second error.
    return {
        "topics": [prefix.replace(".", "\\.") + "\\..*"],
        "schema_changes": prefix,
        "transactions": f"{prefix}.transaction",
        "heartbeat": f"__debezium-heartbeat.{prefix}",
    }


def _merged(defaults: Toml, given: Toml) -> Toml:
    merged = {**defaults, **given}
    for key, default in defaults.items():
        value = given.get(key)
        if isinstance(default, dict) and isinstance(value, dict):
            merged[key] = _merged(default, value)
    return merged


def _how_to_write(name: str) -> str:
    return f"write {name}.toml there, or " if re.fullmatch(SOURCE_NAME, name) else ""


def _texts(settings: Settings) -> dict[Path, str]:
    folder = settings.sources
    if not folder.is_dir():
        raise ConfigError(
            f"{folder}: expected a folder with one TOML file per source; "
            "make it, or set LAKEHOUSE_SOURCES"
        )
    texts = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as broken:
            raise ConfigError(f"{path}: expected a readable UTF-8 file: {broken}") from broken
        if not _has_rules_alone(text):
            texts[path] = text
    return texts


def _has_rules_alone(text: str) -> bool:
    """Whether a file is a table's own expectations, which lie beside their source's."""
    try:
        return tomllib.loads(text).keys() == {"rules"}
    except tomllib.TOMLDecodeError:
        return False


def _prefixes(texts: Mapping[Path, str]) -> dict[Path, str]:
    """The topic prefix that each file states; a file without a usable one has none."""
    found = {}
    for path, text in texts.items():
        try:
            prefix = tomllib.loads(text).get("topic_prefix")
        except tomllib.TOMLDecodeError as broken:
            line = _PREFIX_LINE.search(text)
            if line is None:
                raise ConfigError(f"{path}: expected valid TOML: {broken}") from broken
            prefix = line["prefix"]
        if isinstance(prefix, str):
            found[path] = prefix
    return found


def _as_text(value: object) -> str:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    raise TypeError(f"{value!r} is no TOML value")
