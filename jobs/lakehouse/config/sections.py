"""The tables of a TOML file, one model each. Each description completes "expected …"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

from lakehouse.config.fields import (
    CHANGE_KINDS,
    ChangeKind,
    ColumnType,
    Cron,
    Duration,
    Flag,
    Names,
    Pattern,
    SchemaMode,
    Share,
    Text,
    TopicName,
)
from lakehouse.config.rules import OwnRule
from lakehouse.config.written_secrets import refuse_secrets
from lakehouse.names import RESERVED_ENDINGS

_KINDS = f"a list of some of {', '.join(CHANGE_KINDS)}"
SilverName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9_]{1,200}$",
        description="a table name of lower-case letters, digits and '_' that does not end in "
        "__state, __history or __retired_<n>",
    ),
]
Tables = Annotated[
    tuple[Text, ...], Field(description='a list of tables such as ["public.orders"]')
]
Patterns = Annotated[
    tuple[Pattern, ...],
    Field(
        min_length=1,
        description="a list of regular expressions (ticdc has no default for its topics)",
    ),
]


class Section(BaseModel):
    """A table of keys; every other key is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ScheduleConfig(Section):
    """When the Dag runs, and how long a task may take until Airflow ends it as hung.

    With isolation `run` one Spark application does all steps; with `task` each has its own.
    """

    interval: Cron = "*/5 * * * *"
    start: Annotated[
        AwareDatetime, Field(description="a time with its zone such as 2026-01-01T00:00:00Z")
    ]
    isolation: Annotated[Literal["run", "task"], Field(description='"run" or "task"')] = "run"
    timeout: Duration = timedelta(days=1)


class KafkaConfig(Section):
    """Where the messages are. A control topic that is None is off."""

    connection: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_.-]{1,200}$",
            description="the id of an Airflow connection such as kafka_inventory",
        ),
    ]
    topics: Patterns
    schema_changes: TopicName | None = None
    transactions: TopicName | None = None
    heartbeat: TopicName | None = None
    schema_history: TopicName | None = None
    notifications: TopicName | None = None
    signals: TopicName | None = None
    topic_tables: Annotated[
        Mapping[TopicName, Patterns],
        Field(description='a table of topic = ["regular expression over <schema>.<table>"]'),
    ] = {}


class SchemaChangesConfig(Section):
    """What happens when a table's schema changes.

    `evolve` follows what silver can follow without touching a stored value and holds the table at
    the rest; `fail` holds it at every change. The others hold it at a changed key or unit alone: a
    column keeps its type, and a value that does not fit it exactly is quarantined. `try_evolve`
    follows the same changes as `evolve`, `lenient` adds and widens columns only, so that a renamed
    column is a new one, and `ignore` leaves silver's columns as they are.
    """

    mode: Annotated[
        SchemaMode,
        Field(description="one of evolve, try_evolve, lenient, ignore, fail"),
    ] = "evolve"
    require_approval: Annotated[tuple[ChangeKind, ...], Field(description=_KINDS)] = ()
    resnapshot: Flag = False
    drop_column: Annotated[Literal["keep", "drop"], Field(description='"keep" or "drop"')] = "keep"


class TransactionsConfig(Section):
    """Whether a cut holds whole transactions only, and how long it waits for their end."""

    consistent: Flag = True
    strict: Flag = False
    timeout: Duration


class SnapshotConfig(Section):
    """What a source snapshot may remove, and whether a signal may hold a condition as raw SQL.

    `raw_conditions`: it runs in the source's database with the connector's rights.
    """

    complete: Flag = False
    max_sweep: Share = 0.1
    raw_conditions: Flag = False


class KeepConfig(Section):
    """Which published cuts keep their tags; `last` cuts are kept whatever their age."""

    all: Duration
    hourly: Duration
    daily: Duration
    last: Annotated[int, Field(ge=1, description="a whole number from 1 on")] = 2


class CutsConfig(Section):
    """Published cuts."""

    keep: KeepConfig


class RebuildConfig(Section):
    """Rebuilds; `undo` is how long the state before one stays tagged."""

    undo: Duration


class AlertsConfig(Section):
    """Who is told of a run that failed, or that did not publish in time.

    Attributes:
        notifier: The class of any Airflow notifier; None tells nobody.
        arguments: What it is made with. It may name a connection; it never holds a secret.
        freshness: How long after it was queued a run may take to publish; None is for ever.
    """

    notifier: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
            description="the class of a notifier such as "
            "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
        ),
    ] = None
    arguments: Annotated[
        Mapping[str, JsonValue], Field(description="a table of the notifier's arguments")
    ] = {}
    freshness: Duration | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.notifier is None and (self.arguments or self.freshness):
            raise ValueError("notifier: missing: expected the class of a notifier beside the rest")
        for name, value in self.arguments.items():
            refuse_secrets(f"arguments.{name}", value)
        return self


class ReconcileConfig(Section):
    """Reconcile: where it may write, and how long it waits for a cut.

    `marker`: a signal table, one of `control_tables`, in which it may insert a row that the
    connector only logs, so that a quiet source has an event behind what was read.
    """

    marker: Annotated[
        Text | None, Field(description='one of control_tables, such as "public.debezium_signal"')
    ] = None
    wait: Duration


class ColumnConfig(Section):
    """What differs for one column of a table."""

    mask: Annotated[
        Literal["drop", "hash", "redact"] | None, Field(description="one of drop, hash, redact")
    ] = None
    type: ColumnType | None = None


class TableSchemaChangesConfig(Section):
    """What happens to one table where that differs from the source's other tables."""

    mode: Annotated[
        SchemaMode | None,
        Field(description="one of evolve, try_evolve, lenient, ignore, fail"),
    ] = None
    require_approval: Annotated[
        tuple[ChangeKind, ...] | None,
        Field(description=_KINDS),
    ] = None

    def over(self, shared: SchemaChangesConfig) -> SchemaChangesConfig:
        """What holds for the table, where the source's other tables have `shared`."""
        return shared.model_copy(update=self.model_dump(exclude_none=True))


class TableConfig(Section):
    """What differs for one table."""

    table: SilverName | None = None
    delete: Annotated[Literal["hard", "soft"], Field(description='"hard" or "soft"')] = "hard"
    history: Flag = False
    key: Annotated[
        Annotated[Names, Field(min_length=1)] | None,
        Field(
            description='a list of columns such as ["id"]; no such line where the events have it'
        ),
    ] = None
    drop_column: Annotated[
        Literal["keep", "drop"] | None, Field(description='"keep" or "drop"')
    ] = None
    schema_changes: Annotated[
        TableSchemaChangesConfig,
        Field(description='a table such as { mode = "fail" }'),
    ] = TableSchemaChangesConfig()
    columns: Annotated[
        Mapping[str, ColumnConfig],
        Field(description='a table of column = { mask = "drop" } or { type = "…" }'),
    ] = {}
    contract: Annotated[
        Text | None, Field(description="a file beside this one, such as orders.odcs.yaml")
    ] = None
    expectations: Annotated[
        Text | None, Field(description="a file beside this one, such as orders.rules.toml")
    ] = None
    rules: Annotated[
        tuple[OwnRule, ...],
        Field(description="a list of rules with name, description and violated"),
    ] = ()
    not_judged: Annotated[tuple[Text, ...], Field(description="nothing: the loader sets it")] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = [rule.name for rule in self.rules]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rules: {twice[0]!r}: expected each name once in all files")
        if self.table is not None and RESERVED_ENDINGS.search(self.table):
            raise ValueError(
                f"table: {self.table!r}: expected a name that does not end in __state, "
                "__history or __retired_<n>, which the pipeline's own tables have"
            )
        for name in self.key or ():
            mask = self.columns[name].mask if name in self.columns else None
            if mask not in (None, "hash"):
                raise ValueError(
                    f"columns.{name}.mask: {mask!r}: expected 'hash', because {name!r} is part "
                    "of the key and rows are found by it"
                )
        return self
