"""Notifications, as the connector sends them: what it says of its snapshots.

https://debezium.io/documentation/reference/stable/configuration/notification.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

INCREMENTAL, INITIAL = "Incremental Snapshot", "Initial Snapshot"


class Event(StrEnum):
    """What happened to a snapshot."""

    STARTED = "STARTED"
    PAUSED = "PAUSED"
    RESUMED = "RESUMED"
    ABORTED = "ABORTED"
    IN_PROGRESS = "IN_PROGRESS"
    TABLE = "TABLE_SCAN_COMPLETED"
    COMPLETED = "COMPLETED"


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification.

    Attributes:
        id: That of the signal, while no other signal came; of a blocking snapshot any other.
        kind: INCREMENTAL, or INITIAL, which blocking snapshots are too.
        event: What happened; other words of other versions are text.
        data: The members that go with it.
        at_ms: When the message was written, in milliseconds since the epoch.
    """

    id: str
    kind: str
    event: str
    data: Mapping[str, str] = field(default_factory=dict)
    at_ms: int = 0

    @property
    def table(self) -> str:
        """The table that it is about; empty where it is about the whole snapshot."""
        return self.data.get("scanned_collection") or self.data.get(
            "current_collection_in_progress", ""
        )

    @property
    def queued(self) -> tuple[str, ...] | None:
        """The tables that it lists, of which the first is read now; None where it lists none."""
        listed = self.data.get("data_collections")
        return None if listed is None else tuple(filter(None, listed.split(",")))

    @property
    def rows(self) -> int | None:
        """How many rows were read of the table; None where it does not say."""
        text = self.data.get("total_rows_scanned", "")
        return int(text) if text.isdecimal() else None


def parse_notification(value: bytes | None, at_ms: int) -> Notification | None:
    """Read a message of the notification topic; None where it is no notification."""
    try:
        whole = json.loads(value or b"")
    except ValueError:
        return None
    payload = whole.get("payload", whole) if isinstance(whole, dict) else None
    if not isinstance(payload, dict) or not isinstance(payload.get("aggregate_type"), str):
        return None
    data = payload.get("additional_data") or {}
    return Notification(
        id=str(payload.get("id", "")),
        kind=payload["aggregate_type"],
        event=str(payload.get("type", "")),
        data={str(name): str(text) for name, text in data.items()},
        at_ms=at_ms,
    )
