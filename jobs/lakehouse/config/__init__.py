"""Settings of an installation and the configuration of its sources.

In: environment variables and one TOML file per source. Out: frozen values, complete with their
defaults, that travel to jobs as JSON. Nothing here touches the network.
"""

from lakehouse.config.fields import ChangeKind, SchemaMode, format_duration
from lakehouse.config.kafka import STACK_FILE, client_properties, kafka_properties
from lakehouse.config.loading import load_readable, load_source, load_sources, parse_source
from lakehouse.config.masks import MASK_KEY, mask_secret
from lakehouse.config.sections import KeepConfig, SnapshotConfig
from lakehouse.config.settings import Settings
from lakehouse.config.source import SourceConfig
from lakehouse.config.table_sections import ColumnConfig, TableConfig
from lakehouse.config.topics import (
    TopicRole,
    TopicSelection,
    control_topics,
    is_mapped,
    mapped_table,
    required_topics,
    select_topics,
    topic_role,
)

__all__ = [
    "MASK_KEY",
    "STACK_FILE",
    "ChangeKind",
    "ColumnConfig",
    "KeepConfig",
    "SchemaMode",
    "Settings",
    "SnapshotConfig",
    "SourceConfig",
    "TableConfig",
    "TopicRole",
    "TopicSelection",
    "client_properties",
    "control_topics",
    "format_duration",
    "is_mapped",
    "kafka_properties",
    "load_readable",
    "load_source",
    "load_sources",
    "mapped_table",
    "mask_secret",
    "parse_source",
    "required_topics",
    "select_topics",
    "topic_role",
]
