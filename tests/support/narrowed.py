"""A source of the stack with the topics of some tables alone."""

from __future__ import annotations

import re

from lakehouse.config import SourceConfig


def narrowed(source: SourceConfig, name: str, tables: str, **update: object) -> SourceConfig:
    """A source under a name of its own that lands some tables: those of other tests cost more.

    Args:
        source: The one of the stack; the new one has its topic prefix.
        name: The new one's name.
        tables: A regular expression over what follows the prefix in a topic's name.
        update: What else differs.
    """
    topics = (rf"{re.escape(source.topic_prefix)}\.{tables}",)
    kafka = source.kafka.model_copy(update={"topics": topics})
    return source.model_copy(update={"name": name, "kafka": kafka, **update})
