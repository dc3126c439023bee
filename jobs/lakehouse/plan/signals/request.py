"""What a person asks of a connector."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from lakehouse.names import TableIdentity
from lakehouse.plan.signals.conditions import Condition


class Action(StrEnum):
    """What the connector is to do with a snapshot; the value is its signal's type."""

    SNAPSHOT = "execute-snapshot"
    STOP = "stop-snapshot"
    PAUSE = "pause-snapshot"
    RESUME = "resume-snapshot"


class SnapshotType(StrEnum):
    """How rows are read: between the changes that go on, or while nothing is streamed."""

    INCREMENTAL = "incremental"
    BLOCKING = "blocking"


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks for.

    Attributes:
        tables: Which tables; none stops all of a snapshot, or belongs to pause and resume.
        conditions: Which rows; all must hold.
        raw: A condition as SQL of the source instead.
        surrogate_key: A column that orders the rows instead of the key.
        person: Who asks; the signal says so.
    """

    action: Action
    tables: tuple[TableIdentity, ...] = ()
    type: SnapshotType = SnapshotType.INCREMENTAL
    conditions: tuple[Condition, ...] = ()
    raw: str | None = None
    surrogate_key: str | None = None
    person: str = ""
