"""The versions of a batch made to fit the columns that silver has with it.

In: versions as data events carry them, silver's columns. Out: versions without what silver leaves
out, each value of a type that fits its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakehouse.plan.batches.tables import Version
from lakehouse.plan.schemas.schema import SchemaPlan, as_stored


def silver_columns(stored: Mapping[str, str], plan: SchemaPlan) -> dict[str, str]:
    """Silver's columns with the batch: name as stored → Spark type."""
    widened = {name.lower(): kind for name, kind in plan.widen}
    columns = {name: widened.get(name.lower(), kind) for name, kind in stored.items()}
    return columns | {column.name: column.type.spark for column in plan.add}


def left_out_of(versions: Iterable[Version], columns: Mapping[str, str]) -> tuple[str, ...]:
    """What a person should know of columns that silver does not get."""
    known = {name.lower() for name in columns}
    lacking = {c.name for v in versions for c in v.stored_columns if c.name.lower() not in known}
    names = ", ".join(sorted(lacking))
    return (f"schema_changes.mode leaves out the columns {names}",) if lacking else ()


def fitted(version: Version, columns: Mapping[str, str]) -> Version:
    """The version with what silver has of its columns, each of a type that fits there."""
    types = {name.lower(): kind for name, kind in columns.items()}
    under = [(c, types.get(version.stored_name(c.name).lower())) for c in version.columns]
    known = tuple(as_stored(column, kind) for column, kind in under if kind)
    left_out = tuple(column.name for column, kind in under if kind is None)
    return replace(version, columns=known, withheld=(*version.withheld, *left_out))
