"""The schemas that messages carry, each read from one message that has it, or what images prove.

In: bronze rows, the groups of their profile. Out: the schema of each fingerprint; where messages
carry none, the types of JSON that their row images have.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import orjson
import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.batches.groups import Group
from lakehouse.plan.schemas.connect_schema import Schema
from lakehouse.plan.schemas.json_types import object_members
from lakehouse.spark.sql import any_of, in_partition, literal


class SchemaSamples:
    """The schemas of some bronze rows; each message is read once."""

    def __init__(self, messages: DataFrame) -> None:
        self._messages = messages
        self._known: dict[int, Schema | None] = {}
        self._proven: dict[int, dict[str, str]] = {}

    def of(self, groups: Iterable[Group]) -> dict[int, Schema | None]:
        """The schema of each fingerprint; None where the messages carry none."""
        named = {group.fingerprint: group for group in groups if group.fingerprint is not None}
        new = {name: group for name, group in named.items() if name not in self._known}
        self._known |= {name: None for name, group in new.items() if group.bare == group.count}
        places = {
            name: (group.topic, group.partition, group.first_offset)
            for name, group in new.items()
            if name not in self._known
        }
        if places:
            self._read(places)
        return {name: self._known[name] for name in named}

    def proven(
        self, envelopes: DataFrame, fingerprints: Sequence[int], *, whole: bool
    ) -> dict[int, dict[str, str]]:
        """What row images prove: fingerprint → column → type of its values in JSON.

        Args:
            envelopes: The same messages, parsed.
            fingerprints: Of those without a schema.
            whole: Whether the envelopes are those of all messages: these are asked once.
        """
        if whole and self._proven.keys() >= set(fingerprints):
            return self._proven
        found = _proven(envelopes, fingerprints)
        if whole:
            self._proven |= found
        return found

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


def _proven(envelopes: DataFrame, fingerprints: Sequence[int]) -> dict[int, dict[str, str]]:
    listed = ", ".join(map(str, fingerprints))
    images = envelopes.where(f"reason IS NULL AND NOT control AND fingerprint IN ({listed})")
    both = f"explode(array({_image('after')}, {_image('before')})) AS row"
    rows = images.selectExpr("fingerprint", both)
    types = rows.groupBy("fingerprint").agg(F.expr("schema_of_variant_agg(row) AS type"))
    return {row["fingerprint"]: object_members(row["type"]) for row in types.collect()}


def _image(member: str) -> str:
    """A row image; NULL where something else than an object stands there."""
    path = literal(f"$.{member}")
    is_object = f"try_variant_get(payload, {path}, 'struct<>') IS NOT NULL"
    return f"if({is_object}, try_variant_get(payload, {path}, 'variant'), NULL)"
