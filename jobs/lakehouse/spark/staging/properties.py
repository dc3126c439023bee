"""What a silver table says of itself in its properties: its key, and the renames it followed.

In: a silver table. Out: its properties as a value; columns that got the names the source gave them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.catalog import Catalog
from pyspark.sql import SparkSession

from lakehouse.plan.batches.tables import MAIN, TablePlan
from lakehouse.spark import altering, tables
from lakehouse.spark.metadata import load_metadata

# The columns that identify a row, as a JSON list.
KEY_PROPERTY = "lakehouse.key"
# Position of the last renamed column that the table has followed.
RENAMED_PROPERTY = "lakehouse.renamed"
# How many renames of one statement it has followed: position and number.
_RENAMING_PROPERTY = "lakehouse.renaming"
# Whether it may have rows that are only marked as deleted.
SOFT_PROPERTY = "lakehouse.soft-delete"
# Columns that were added for a batch, and what the batch built on.
_ADDED_PROPERTY = "lakehouse.added"


@dataclass(frozen=True, slots=True)
class Properties:
    """What a silver table says of itself.

    Attributes:
        key: The columns that identify a row; None where there is no table.
        renamed: Position of the last renamed column that it has followed; empty for none.
        docs: Columns and what their docs say.
        soft: Whether it may have rows that are only marked as deleted.
        snapshot: That of `main`; None for none.
        added: Columns that were added last, in lower case.
        added_to: What they were added to: the cut and the snapshot of `main`.
    """

    key: tuple[str, ...] | None = None
    renamed: str = ""
    docs: Mapping[str, str] = field(default_factory=dict)
    soft: bool = False
    snapshot: int | None = None
    added: tuple[str, ...] = ()
    added_to: str = ""

    def at(self, cut: str) -> str:
        """What a batch builds on that follows a cut."""
        return f"{cut} {self.snapshot}"


def of_new_table(plan: TablePlan) -> dict[str, str]:
    """The properties of a table that is made now."""
    return {
        KEY_PROPERTY: json.dumps(plan.key),
        RENAMED_PROPERTY: plan.renamed,
        SOFT_PROPERTY: json.dumps(plan.soft),
    }


def properties_of(catalog: Catalog, silver: str) -> Properties:
    """Read the properties of a silver table, which may not exist."""
    metadata = load_metadata(catalog, silver)
    if metadata is None or KEY_PROPERTY not in metadata.properties:
        return Properties()
    key = tuple(json.loads(metadata.properties[KEY_PROPERTY]))
    docs = {column.name: column.doc or "" for column in metadata.schema().fields}
    soft = json.loads(metadata.properties.get(SOFT_PROPERTY, "false"))
    main = metadata.snapshot_by_name(MAIN)
    added: dict[str, list[str]] = json.loads(metadata.properties.get(_ADDED_PROPERTY, "{}"))
    [(added_to, names)] = added.items() or [("", [])]
    return Properties(
        key=key,
        renamed=metadata.properties.get(RENAMED_PROPERTY, ""),
        docs=docs,
        soft=soft,
        snapshot=main.snapshot_id if main else None,
        added=tuple(names),
        added_to=added_to,
    )


def remember_added(spark: SparkSession, silver: str, added_to: str, names: Iterable[str]) -> None:
    """Say which columns a batch adds, before it does: a batch that is repeated adds them again.

    Args:
        spark: The session.
        silver: Namespace and name of the table.
        added_to: `Properties.at` of the batch's beginning.
        names: The columns.
    """
    lower = sorted(name.lower() for name in names)
    altering.set_properties(spark, silver, {_ADDED_PROPERTY: json.dumps({added_to: lower})})


def remember_soft(spark: SparkSession, silver: str) -> None:
    """Say of a table that deleted rows stay in it from now on; repeating it is harmless."""
    altering.set_properties(spark, silver, {SOFT_PROPERTY: "true"})


def remember_key(spark: SparkSession, silver: str, key: Sequence[str]) -> None:
    """Say by which columns the rows of a table are named from now on; repeating it is harmless."""
    altering.set_properties(spark, silver, {KEY_PROPERTY: json.dumps(key)})


def rename_columns(
    spark: SparkSession,
    catalog: Catalog,
    silver: str,
    renames: Sequence[tuple[str, str]],
    position: str,
) -> None:
    """Give columns their new names; field ids stay, and repeating it is harmless.

    Args:
        spark: The session.
        catalog: PyIceberg's, for the table's properties.
        silver: Namespace and name of the table.
        renames: Old and new names, in order.
        position: Where the last of them stands.
    """
    stored = properties_of(catalog, silver)
    if stored.renamed >= position:
        return
    present = {name.lower() for name in spark.table(tables.full_name(silver)).schema.names}
    key = stored.key or ()
    done = _done(catalog, silver, position)
    for number, (was, name) in enumerate(renames, 1):
        is_due = was.lower() in present and name.lower() not in present
        if number > done and is_due:
            altering.rename_column(spark, silver, was, name)
            present = present - {was.lower()} | {name.lower()}
            # Names may swap: a rename that is done looks as if it were due again.
            if len(renames) > 1:
                step = {_RENAMING_PROPERTY: f"{number} {position}"}
                altering.set_properties(spark, silver, step)
        key = tuple(name if column.lower() == was.lower() else column for column in key)
    properties = {KEY_PROPERTY: json.dumps(key), RENAMED_PROPERTY: position}
    altering.set_properties(spark, silver, properties)


def _done(catalog: Catalog, silver: str, position: str) -> int:
    """How many of the renames up to a position a killed `publish` has done."""
    metadata = load_metadata(catalog, silver)
    text = metadata.properties.get(_RENAMING_PROPERTY, "") if metadata else ""
    number, _, at = text.partition(" ")
    return int(number) if at == position else 0
