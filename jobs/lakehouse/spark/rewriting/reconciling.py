"""Silver's side of a comparison: buckets counted and hashed, and the rows of chosen keys.

In: a silver table at a snapshot, and what of it is compared. Out: sums of buckets, states of keys.
The texts are made by the Python code that makes those of the source, in Spark's workers, where the
rows stay; what comes back is at most a row for each bucket, or for each wanted key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import STATE_ENDING
from lakehouse.plan.reconciling.keys import KeyState, StatesBuilder
from lakehouse.plan.reconciling.sums import PARTS, Sums, bucket_of
from lakehouse.plan.reconciling.tables import ComparedTable, SilverColumn
from lakehouse.plan.reconciling.texts import column_digest, digest
from lakehouse.plan.reconciling.wanted import Wanted, shown_key
from lakehouse.spark import tables
from lakehouse.spark.staging import silver

# Where a row, or a delete mark, comes from.
PLACE = "concat_ws('/', {0}.position, {0}.topic, {0}.partition, {0}.offset)"
_PARTS = tuple(f"part_{index}" for index in range(PARTS))
_SUMS = f"bucket int, rows bigint, {', '.join(f'{name} bigint' for name in _PARTS)}"
_STATES = "key binary, shown string, row binary, columns binary, place string"
_SUMS_ARROW = pa.schema(
    [("bucket", pa.int32()), ("rows", pa.int64()), *((name, pa.int64()) for name in _PARTS)]
)
_STATES_ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("shown", pa.string()),
        ("row", pa.binary()),
        ("columns", pa.binary()),
        ("place", pa.string()),
    ]
)
_AT_ONCE = 5000

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class SilverAt:
    """A silver table in a published cut.

    Attributes:
        snapshots: Silver and state tables of the cut → snapshot.
    """

    spark: SparkSession
    silver: str
    snapshots: Mapping[str, int]

    @property
    def relation(self) -> DataFrame:
        """Its rows, those that are only marked as deleted left out."""
        rows = self.spark.table(tables.snapshot_name(self.silver, self.snapshots[self.silver]))
        return rows.where(silver.is_live(_cdc(rows)))

    def columns(self) -> tuple[SilverColumn, ...]:
        """Its columns of today that its snapshot has, in order."""
        schema = self.relation.schema
        return tuple(
            SilverColumn(
                field.name,
                tables.type_ddl(field.dataType).replace(": ", ":").replace(", ", ","),
                str(field.metadata.get("comment", "")),
            )
            for field in schema.fields
        )


def silver_sums(at: SilverAt, table: ComparedTable, buckets: int) -> Sums:
    """Count and hash a table.

    Args:
        at: The table.
        table: What of it is compared.
        buckets: How many there are.
    """
    rows = at.relation.selectExpr(*compared_columns(table))
    parts = rows.mapInArrow(partial(_sum, table, buckets), _SUMS)
    found = parts.groupBy("bucket").agg(
        F.sum("rows"), *(F.sum(F.col(name)).alias(name) for name in _PARTS)
    )
    return Sums.of_parts(tuple(row) for row in found.collect())


def silver_states(
    at: SilverAt, table: ComparedTable, wanted: Wanted, *, marks: bool = True
) -> dict[bytes, KeyState]:
    """The rows of keys, and the delete marks of those that have none.

    Args:
        at: The table.
        table: What of it is compared.
        wanted: The keys; the rows that they have are bounded by who asks.
        marks: Whether delete marks are read; of keys that nobody named there may be very many.
    """
    rows = at.relation
    place = f"{PLACE.format(_cdc(rows))} AS place"
    found = rows.selectExpr(*compared_columns(table), place)
    found = found.mapInArrow(partial(_rows, table, wanted), _STATES)
    marked = _marks(at, table, rows.schema) if marks else None
    if marked is not None:
        found = found.unionByName(marked.mapInArrow(partial(_marked, table, wanted), _STATES))
    states = StatesBuilder()
    for row in found.collect():
        digests = None if row["row"] is None else (bytes(row["row"]), bytes(row["columns"]))
        states.add_digests(bytes(row["key"]), row["shown"], digests, row["place"])
    return states.states()


def compared_columns(table: ComparedTable) -> list[str]:
    """SQL for the compared columns; `mapInArrow` takes columns by name, and theirs may be any."""
    return [f"{quote_ident(column.silver)} AS c{n}" for n, column in enumerate(table.columns)]


def _cdc(rows: DataFrame) -> str:
    """The struct with a row's coordinates."""
    return quote_ident(silver.cdc_of(rows.schema))


def _marks(at: SilverAt, table: ComparedTable, schema: T.StructType) -> DataFrame | None:
    """The delete marks, their keys typed again; None where there are none with a key."""
    state = at.silver + STATE_ENDING
    if not table.key or state not in at.snapshots:
        return None
    marks = at.spark.table(tables.snapshot_name(state, at.snapshots[state]))
    marks = marks.where(silver.IS_DELETE_MARK)
    types = {field.name: field.dataType for field in schema.fields}
    parsed = marks.selectExpr(
        "from_json(key, 'array<string>') AS parts",
        f"{PLACE.replace('{0}.', '')} AS place",
    )
    return parsed.selectExpr(
        *(
            f"{_typed(f'parts[{index}]', types[column.silver])} AS c{index}"
            for index, column in enumerate(table.key_columns)
        ),
        "place",
    )


def _typed(text: str, kind: T.DataType) -> str:
    """The opposite of `rows.key_text` for one value."""
    if isinstance(kind, T.BinaryType):
        return f"unhex({text})"
    return f"try_cast({text} AS {tables.type_ddl(kind)})"


def _sum(table: ComparedTable, buckets: int, batches: Batches) -> Batches:
    sums = Sums()
    for batch in batches:
        for values in row_values(batch):
            texts = table.texts(values, of_silver=True)
            sums.add(bucket_of(table.key_digest(texts), buckets), digest(texts))
    parts = list(sums.parts())
    columns = [list(column) for column in zip(*parts, strict=True)] if parts else [[]] * (2 + PARTS)
    yield pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, _SUMS_ARROW, strict=True)],
        schema=_SUMS_ARROW,
    )


def _rows(table: ComparedTable, wanted: Wanted, batches: Batches) -> Batches:
    for batch in batches:
        found = []
        for *values, place in row_values(batch):
            texts = table.texts(values, of_silver=True)
            key = table.key_digest(texts)
            if key in wanted:
                columns = b"".join(map(column_digest, texts))
                shown = shown_key(table, key, values)
                found.append((key, shown, digest(texts), columns, place))
        yield from _batches(found)


def _marked(table: ComparedTable, wanted: Wanted, batches: Batches) -> Batches:
    for batch in batches:
        found = []
        for *values, place in row_values(batch):
            texts = table.texts(
                [*values, *[None] * (len(table.columns) - table.key)], of_silver=True
            )
            key = table.key_digest(texts)
            if key in wanted:
                found.append((key, shown_key(table, key, values), None, None, place))
        yield from _batches(found)


def row_values(batch: pa.RecordBatch) -> Iterator[tuple[object, ...]]:
    """The rows of a batch as values of Python."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _batches(rows: Sequence[tuple[object, ...]]) -> Batches:
    for start in range(0, len(rows), _AT_ONCE):
        columns = zip(*rows[start : start + _AT_ONCE], strict=True)
        yield pa.RecordBatch.from_arrays(
            [pa.array(c, f.type) for c, f in zip(columns, _STATES_ARROW, strict=True)],
            schema=_STATES_ARROW,
        )
