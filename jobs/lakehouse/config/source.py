"""SourceConfig: one TOML file as one frozen value, complete with its defaults.

Unknown keys are refused. Each field's description says what is expected of its value; error
messages are made from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, Field, model_validator

from lakehouse.config.fields import (
    ConnectorName,
    SourceName,
    TopicPrefix,
)
from lakehouse.config.sections import (
    AlertsConfig,
    CutsConfig,
    KafkaConfig,
    RebuildConfig,
    ReconcileConfig,
    ScheduleConfig,
    SchemaChangesConfig,
    Section,
    SnapshotConfig,
    Tables,
    TransactionsConfig,
)
from lakehouse.config.table_sections import TableConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError
from lakehouse.names import TableIdentity, parse_table

# Keys that no TOML file has: the loader and the command line set them.
FROM_THE_LOADER = frozenset({"name", "longer_prefixes", "accept_loss", "not_judged"})


class SourceConfig(Section):
    """One source: one connector instance, one topic prefix, one TOML file.

    Attributes:
        name: The TOML file's name without its ending.
        longer_prefixes: Topic prefixes of other sources that start with this one's and a dot.
        accept_loss: Topics whose lost or mixed-up offsets a person has accepted for this run.
        new_logs: Where a person has confirmed that the source goes on with another log: what Kafka
            has from each time on is newer than all before.
        tables: By the text of the key; `table_options` finds one by identity.
    """

    name: SourceName
    connector: ConnectorName
    topic_prefix: TopicPrefix
    longer_prefixes: tuple[str, ...] = ()
    accept_loss: tuple[str, ...] = ()
    control_tables: Tables = ()
    epoch: Annotated[Literal["manual", "gtid"], Field(description='"manual" or "gtid"')]
    new_logs: Annotated[
        tuple[AwareDatetime, ...],
        Field(description="a list of rising times with their zone such as [2026-01-01T00:00:00Z]"),
    ] = ()
    schedule: ScheduleConfig
    kafka: KafkaConfig
    schema_changes: SchemaChangesConfig
    transactions: TransactionsConfig
    snapshot: SnapshotConfig
    cuts: CutsConfig
    rebuild: RebuildConfig
    reconcile: ReconcileConfig
    alerts: AlertsConfig = AlertsConfig()
    tables: Annotated[
        Mapping[str, TableConfig], Field(description='tables such as [tables."public.orders"]')
    ] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.epoch == "gtid" and not CONNECTORS[self.connector].gtids:
            raise ValueError(
                f"epoch: 'gtid': expected 'manual' for {self.connector}, which sends no GTIDs"
            )
        if list(self.new_logs) != sorted(set(self.new_logs)):
            times = ", ".join(time.isoformat() for time in self.new_logs)
            raise ValueError(f"new_logs: {times}: expected each later than the one before")
        named: dict[str, str] = {}
        seen: dict[TableIdentity, str] = {}
        for key, options in self.tables.items():
            _refuse_twice(seen, _parsed(key, f'tables."{key}"', self.connector), key)
            if options.table is not None:
                _refuse_name_twice(named, options.table, key)
        for index, text in enumerate(self.control_tables):
            _parsed(text, f"control_tables[{index}]", self.connector)
        if self.reconcile.marker not in (None, *self.control_tables):
            raise ValueError(
                f"reconcile.marker: {self.reconcile.marker!r}: expected one of control_tables"
            )
        return self

    def for_jobs(self) -> str:
        """All that a job is told, as JSON in its arguments: who is told of failures is not."""
        return self.model_dump_json(exclude={"alerts"})

    def table_options(self, identity: TableIdentity) -> TableConfig:
        """What the file says about a table; the defaults when it says nothing."""
        parts = identity.parts(self.connector)
        for text, options in self.tables.items():
            if parse_table(text, self.connector).parts(self.connector) == parts:
                return options
        return TableConfig()

    def schema_changes_of(self, identity: TableIdentity) -> SchemaChangesConfig:
        """What happens when a table's schema changes."""
        return self.table_options(identity).schema_changes.over(self.schema_changes)

    def is_control_table(self, identity: TableIdentity) -> bool:
        """Whether the table is landed and counted but never becomes silver."""
        parts = identity.parts(self.connector)
        return any(
            parse_table(text, self.connector).parts(self.connector) == parts
            for text in self.control_tables
        )

    def configured_names(self) -> dict[TableIdentity, str]:
        """The silver names that the file gives."""
        return {
            parse_table(text, self.connector): options.table
            for text, options in self.tables.items()
            if options.table is not None
        }


def _parsed(text: str, path: str, connector: str) -> TableIdentity:
    try:
        return parse_table(text, connector)
    except ConfigError as broken:
        raise ValueError(re.sub(r"^table ", f"{path}: ", str(broken))) from broken


def _refuse_twice(seen: dict[TableIdentity, str], identity: TableIdentity, key: str) -> None:
    if identity in seen:
        raise ValueError(
            f"tables.'{key}': {key!r}: expected each table once, as {seen[identity]!r}"
        )
    seen[identity] = key


def _refuse_name_twice(named: dict[str, str], name: str, key: str) -> None:
    if name in named:
        raise ValueError(
            f'tables."{key}".table: {name!r}: expected another name, it is that of {named[name]!r}'
        )
    named[name] = key
