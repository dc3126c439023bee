"""Which connectors write a source's topics, and whether they run → findings."""

from __future__ import annotations

from collections.abc import Mapping

from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.findings import Finding, Level, Promise


def judge_running(connectors: Mapping[str, str], source: SourceConfig) -> tuple[Finding, ...]:
    """Whether one connector writes the source's topics, and runs.

    Args:
        connectors: Name of each connector with the source's prefix → why it does not run, or "".
        source: The source.
    """
    found = [
        Finding(
            Level.WARNING,
            f"connector {name}",
            "state",
            repr(why.partition("\n")[0]),
            "'RUNNING'",
            Promise.NO_LOSS,
            "Nothing arrives, and the source's log goes on without it.",
            f"mend the cause, then POST /connectors/{name}/restart?includeTasks=true",
        )
        for name, why in connectors.items()
        if why
    ]
    if len(connectors) == 1:
        return tuple(found)
    several = len(connectors) > 1
    number = Finding(
        Level.BREAKS if several else Level.WARNING,
        f"topic prefix {source.topic_prefix}",
        "connectors that write it",
        ", ".join(sorted(connectors)) or "none",
        "one",
        Promise.NEVER_BACK if several else Promise.NO_LOSS,
        "Two connectors mix two orders into the same topics."
        if several
        else "Nothing arrives; or it is registered with another Kafka Connect.",
        "remove all but one, or give each its own topic.prefix"
        if several
        else f"register a connector with topic.prefix={source.topic_prefix}",
    )
    return (*found, number)


def is_of_source(config: Mapping[str, str], source: SourceConfig) -> bool:
    """Whether a connector writes the source's topics (before 2.0: `database.server.name`)."""
    prefix = config.get("topic.prefix", config.get("database.server.name"))
    return prefix == source.topic_prefix
