"""Transformations in a connector's configuration: what each does to messages → findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.findings import Finding, Level, Promise

_FLATTENING = ("ExtractNewRecordState", "ExtractField", "Flatten", "EventRouter", "ExtractChanged")
_ROUTING = ("ByLogicalTableRouter", "RegexRouter", "TimestampRouter", "SchemaNameRouter")


def judge_transforms(
    subject: str, config: Mapping[str, str], source: SourceConfig
) -> Iterator[Finding]:
    """What is to be said of each transformation.

    Args:
        subject: The connector, as findings name it.
        config: Its configuration.
        source: The source whose topics it writes.
    """
    for name in filter(None, (part.strip() for part in config.get("transforms", "").split(","))):
        kind = config.get(f"transforms.{name}.type", "unknown")
        short = kind.rpartition(".")[2].partition("$")[0]
        level, why, after = _effect(short, source)
        if level is None:
            continue
        yield Finding(
            level,
            subject,
            f"transforms.{name}.type",
            repr(kind),
            "no such transformation",
            Promise.EQUALS,
            why,
            after,
        )


def _effect(kind: str, source: SourceConfig) -> tuple[Level | None, str, str]:
    if kind.startswith(_FLATTENING):
        return (
            Level.BREAKS,
            "It takes the envelope away: positions, deletes and keys cannot be told any more.",
            "remove it: the pipeline reads whole envelopes",
        )
    if kind in _ROUTING:
        if source.kafka.topic_tables:
            return None, "", ""
        return (
            Level.WARNING,
            "Topics have other names than their tables: unmapped ones are quarantined.",
            'map them in the TOML file: [kafka] topic_tables."<topic>" = ["<schema>.<table>"]',
        )
    if kind == "Filter":
        return (
            Level.BREAKS,
            "Events are left out, and with them rows and the counts of transactions.",
            "remove it, or leave out whole tables with table.exclude.list",
        )
    return (
        Level.WARNING,
        "It may change keys, values or topics in a way that nothing here knows.",
        "remove it, or make sure that envelopes, keys and topics stay as Debezium writes them",
    )
