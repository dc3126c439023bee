"""The schemas that messages carry, each read from one message that has it.

In: bronze rows, the groups of their profile. Out: the schema of each fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import orjson
from pyspark.sql import DataFrame

from lakehouse.plan.groups import Group
from lakehouse.plan.types import Schema
from lakehouse.spark.sql import any_of, in_partition


class SchemaSamples:
    """The schemas of some bronze rows; each message is read once."""

    def __init__(self, messages: DataFrame) -> None:
        self._messages = messages
        self._known: dict[int, Schema | None] = {}

    def of(self, groups: Iterable[Group]) -> dict[int, Schema | None]:
        """The schema of each fingerprint; None where the messages carry none."""
        places = {
            group.fingerprint: (group.topic, group.partition, group.first_offset)
            for group in groups
            if group.fingerprint is not None
        }
        new = {name: place for name, place in places.items() if name not in self._known}
        if new:
            self._read(new)
        return {name: self._known[name] for name in places}

    def _read(self, places: dict[int, tuple[str, int, int]]) -> None:
        wanted = any_of(
            f"{in_partition((topic, partition))} AND offset = {offset}"
            for topic, partition, offset in places.values()
        )
        columns = ("topic", "partition", "offset", "value")
        rows = self._messages.where(wanted).select(*columns).collect()
        values = {(row["topic"], row["partition"], row["offset"]): row["value"] for row in rows}
        for name, place in places.items():
            self._known[name] = _schema(bytes(values[place]))


def _schema(value: bytes) -> Schema | None:
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        # It refuses numbers beyond a double's range, which Spark reads and which spoil one value.
        document = json.loads(value)
    schema = document.get("schema") if isinstance(document, dict) else None
    return schema if isinstance(schema, dict) else None
