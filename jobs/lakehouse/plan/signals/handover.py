"""What sending leaves for following: which signal, of which tables, and from where to read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.errors import ConfigError
from lakehouse.plan.signals.followed import Asked
from lakehouse.plan.signals.request import Action, SnapshotType


@dataclass(frozen=True, slots=True)
class Handover:
    """A signal that was sent.

    Attributes:
        tables: Its tables as TOML files write them.
        topic: The notification topic; empty where the connector tells nothing.
        starts: Topic partition of it → the first offset that may be about this signal.
    """

    asked: Asked
    tables: tuple[str, ...]
    topic: str
    starts: Mapping[int, int]

    def to_json(self) -> str:
        """As one line of JSON."""
        return json.dumps(
            {
                "action": self.asked.action,
                "id": self.asked.signal_id,
                "type": self.asked.type,
                "collections": self.asked.collections,
                "tables": self.tables,
                "topic": self.topic,
                "starts": {str(number): offset for number, offset in self.starts.items()},
            }
        )

    @staticmethod
    def from_json(text: str) -> Handover:
        """Read what `to_json` wrote.

        Raises:
            ConfigError: It is something else.
        """
        try:
            found = json.loads(text)
            asked = Asked(
                Action(found["action"]),
                str(found["id"]),
                SnapshotType(found["type"]),
                tuple(found["collections"]),
            )
            starts = {int(number): int(offset) for number, offset in found["starts"].items()}
            return Handover(asked, tuple(found["tables"]), str(found["topic"]), starts)
        except (ValueError, KeyError, TypeError, AttributeError) as broken:
            raise ConfigError(
                f"signal to follow: {type(broken).__name__}: expected the line of JSON that "
                "`lakehouse signal … --no-follow` printed"
            ) from None
