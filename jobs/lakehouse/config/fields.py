"""Field types of the TOML files. Each description completes the sentence "expected …"."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from lakehouse.config.patterns import slowness
from lakehouse.config.source_types import EXPECTED_TYPE, parse_source_type
from lakehouse.connectors import CONNECTORS


def _known_connector(name: str) -> str:
    if name not in CONNECTORS:
        raise ValueError("unknown connector")
    return name


ConnectorName = Annotated[
    str,
    AfterValidator(_known_connector),
    Field(description=f"one of {', '.join(CONNECTORS)}"),
]

TOPIC_PREFIX = r"^[A-Za-z0-9._-]{1,200}$"

# What a schema change does to a table; `schema_changes.require_approval` lists some of these.
ChangeKind = Literal[
    "create_table",
    "drop_table",
    "rename_table",
    "swap_table",
    "add_column",
    "drop_column",
    "rename_column",
    "reorder_columns",
    "widen_type",
    "narrow_type",
    "change_type",
    "nullability",
    "default",
    "primary_key",
    "character_set",
    "enum_values",
    "comment",
    "constraint",
]

CHANGE_KINDS: tuple[str, ...] = get_args(ChangeKind)

# What happens to a schema change; the names are those of Flink CDC's `schema.change.behavior`.
SchemaMode = Literal["evolve", "try_evolve", "lenient", "ignore", "fail"]

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_CRON_FIELD = r"(?:\*|[0-9A-Za-z]+(?:-[0-9A-Za-z]+)?)(?:/\d+)?"
_CRON_LIST = rf"{_CRON_FIELD}(?:,{_CRON_FIELD})*"
_CRON = re.compile(rf"{_CRON_LIST}(?: +{_CRON_LIST}){{4}}|@(?:hourly|daily|weekly|monthly)")


def _parse_duration(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    found = re.fullmatch(r"([1-9]\d{0,5})([smhd])", value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("not a duration")
    return timedelta(**{_UNITS[found.group(2)]: int(found.group(1))})


def format_duration(duration: timedelta) -> str:
    """The duration as TOML files write it, in the largest unit that is exact."""
    seconds = int(duration.total_seconds())
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def _checked_pattern(value: str) -> str:
    if reason := slowness(value):
        raise ValueError(reason)
    try:
        re.compile(value)
    except re.error as broken:
        raise ValueError(f"{broken}") from broken
    return value


def _checked_cron(value: str) -> str:
    if not _CRON.fullmatch(value):
        raise ValueError("not a cron expression")
    return value


def _checked_type(value: str) -> str:
    parse_source_type(value)
    return value


Duration = Annotated[
    timedelta,
    BeforeValidator(_parse_duration),
    PlainSerializer(format_duration, return_type=str),
    Field(description='a duration such as "30s", "2m", "1h" or "7d"'),
]

Cron = Annotated[
    str,
    AfterValidator(_checked_cron),
    Field(description='a cron expression of five fields such as "*/5 * * * *", or @hourly'),
]

Pattern = Annotated[
    str,
    AfterValidator(_checked_pattern),
    Field(min_length=1, description=r'a regular expression over the whole name ("shop\\..*")'),
]

TopicName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9._-]{1,249}$",
        description="a topic name of letters, digits, '.', '_' and '-'",
    ),
]

TopicPrefix = Annotated[
    str,
    Field(
        pattern=TOPIC_PREFIX,
        description="the connector's topic.prefix: letters, digits, '.', '_' and '-'",
    ),
]

SOURCE_NAME = r"^[a-z][a-z0-9_]{0,62}$"
SourceName = Annotated[
    str,
    Field(
        pattern=SOURCE_NAME,
        description="a name of lower-case letters, digits and '_' that starts with a letter",
    ),
]

Flag = Annotated[bool, Field(description="true or false")]

Text = Annotated[str, Field(min_length=1, description="text that is not empty")]

Names = Annotated[tuple[Text, ...], Field(description="a list of names")]

Share = Annotated[float, Field(ge=0, le=1, description="a number from 0 to 1")]

ColumnType = Annotated[str, AfterValidator(_checked_type), Field(description=EXPECTED_TYPE)]
