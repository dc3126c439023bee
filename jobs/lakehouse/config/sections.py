"""What a TOML file says of a source, one model each. Each description completes "expected …"."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

from lakehouse.config.fields import (
    CHANGE_KINDS,
    ChangeKind,
    Cron,
    Duration,
    Flag,
    Pattern,
    SchemaMode,
    Share,
    Text,
    TopicName,
)
from lakehouse.config.written_secrets import refuse_secrets

KINDS = f"a list of some of {', '.join(CHANGE_KINDS)}"
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
    require_approval: Annotated[tuple[ChangeKind, ...], Field(description=KINDS)] = ()
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
