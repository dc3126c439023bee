"""A small change of a table in one commit: rows go by deletion vectors, new ones come in a file.

In: where the rows stand that go, the rows that come. Out: a snapshot on a branch, which the commit
makes. Neither a scan nor a Spark job: Iceberg's own writers make the vectors, PyIceberg the file.
"""

from __future__ import annotations

import uuid
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyspark.sql import SparkSession

from lakehouse.failpoints import reach
from lakehouse.spark import commits
from lakehouse.spark.java import iceberg_class, java_class, listed
from lakehouse.spark.opening import load_table
from lakehouse.spark.tables import full_name


@dataclass(frozen=True, slots=True)
class RowDelta:
    """What changes.

    Attributes:
        base: The snapshot that the branch starts at; None while the table has none.
        places: Data file → positions of the rows that go.
        rows: Those that come, with the table's columns.
    """

    base: int | None
    places: Mapping[str, Sequence[int]]
    rows: pa.Table


def commit_delta(
    spark: SparkSession,
    catalog: Catalog,
    table: str,
    branch: str,
    delta: RowDelta,
    summary: Mapping[str, str],
) -> bool:
    """Make a branch at the base, with the rows changed.

    Args:
        spark: The session.
        catalog: The same catalog as the session's.
        table: Namespace and name, of a table without partitions.
        branch: Where to; there is none of that name.
        delta: What changes.
        summary: Properties that the commit's snapshot carries.

    Returns:
        False, with nothing done, where a place is of a file that the base does not have: another
        program wrote files again since.
    """
    name = full_name(table)
    loaded = commits.load(spark, name)
    before = _deletes(loaded, delta)
    if before is None:
        return False

    def act(marker: Mapping[str, str]) -> None:
        files = _written(catalog, table, delta.rows) if delta.rows.num_rows else []
        loaded.refresh()
        both = loaded.newTransaction()
        if delta.base is not None and not loaded.refs().get(branch):
            # A change that makes its branch itself begins at `main`, with totals of 0.
            both.manageSnapshots().createBranch(branch, delta.base).commit()
        change = both.newRowDelta().toBranch(branch)
        for file in files:
            change.addRows(_as_java(spark, loaded, file))
        _take_out(spark, loaded, change, delta, before)
        for key, text in {**summary, **marker}.items():
            change.set(key, text)
        change.commit()
        reach("before_commit")
        both.commitTransaction()

    commits.write_rows(spark, name, branch, act)
    return True


def _written(catalog: Catalog, table: str, rows: pa.Table) -> list[Any]:
    opened = load_table(catalog, table)
    return list(_dataframe_to_data_files(opened.metadata, rows, opened.io, uuid.uuid4()))


def _as_java(spark: SparkSession, loaded: Any, file: Any) -> Any:  # noqa: ANN401 - Java objects
    """A data file with the metrics that Iceberg itself would keep of it."""
    config = iceberg_class(spark, "MetricsConfig").forTable(loaded)
    opened = loaded.io().newInputFile(file.file_path)
    metrics = iceberg_class(spark, "parquet.ParquetUtil").fileMetrics(opened, config)
    builder = iceberg_class(spark, "DataFiles").builder(loaded.spec()).withPath(file.file_path)
    builder = builder.withFormat("PARQUET").withFileSizeInBytes(file.file_size_in_bytes)
    return builder.withMetrics(metrics).build()


def _deletes(loaded: Any, delta: RowDelta) -> dict[str, Any] | None:  # noqa: ANN401
    """Data file that loses rows → what is deleted in it already; None where one is not there."""
    if not delta.places:
        return {}
    planned, found = loaded.newScan().useSnapshot(delta.base).planFiles(), {}
    tasks = planned.iterator()
    while tasks.hasNext():
        task = tasks.next()
        path = str(task.file().location())
        if path in delta.places:
            found[path] = task.deletes()
    planned.close()
    return found if found.keys() == delta.places.keys() else None


def _take_out(
    spark: SparkSession,
    loaded: Any,  # noqa: ANN401
    change: Any,  # noqa: ANN401
    delta: RowDelta,
    before: Mapping[str, Any],
) -> None:
    """Deletion vectors for the places, each with what its file had before."""
    if not delta.places:
        return
    factory = iceberg_class(spark, "io.OutputFileFactory").builderFor(loaded, 1, 1)
    puffin = iceberg_class(spark, "FileFormat").PUFFIN
    factory = factory.format(puffin).operationId(uuid.uuid4().hex).build()
    old = _function(spark, _vectors(spark, loaded, before))
    writer = iceberg_class(spark, "deletes.BaseDVFileWriter")(factory, old)
    for path, positions in delta.places.items():
        writer.delete(path, _index(spark, positions), loaded.spec(), None)
    writer.close()
    result = writer.result()
    for file in listed(result.deleteFiles()):
        change.addDeletes(file)
    for file in listed(result.rewrittenDeleteFiles()):
        change.removeDeletes(file)
    change.validateFromSnapshot(delta.base).validateDataFilesExist(result.referencedDataFiles())
    change.validateDeletedFiles().validateNoConflictingDataFiles()
    change.validateNoConflictingDeleteFiles()


def _vectors(spark: SparkSession, loaded: Any, before: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Data file → the positions that are deleted in it already."""
    empty = java_class(spark, "java.util.HashMap")
    inputs, found = empty(), empty()
    loader = iceberg_class(spark, "data.BaseDeleteLoader")(_function(spark, inputs))
    for path, deletes in before.items():
        for file in listed(deletes):
            inputs.put(file, loaded.io().newInputFile(file.location()))
        if deletes.size():
            found.put(path, loader.loadPositionDeletes(deletes, path))
    return found


def _index(spark: SparkSession, positions: Sequence[int]) -> Any:  # noqa: ANN401
    """The positions as Iceberg has them, handed over at once: each call takes 0.1 ms."""
    given = array("q", positions)
    given.byteswap()
    buffer = java_class(spark, "java.nio.ByteBuffer").wrap(given.tobytes()).asLongBuffer()
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - PySpark has no public way to it
    numbers = gateway.new_array(java_class(spark, "long"), len(given))
    buffer.get(numbers)
    boxed = java_class(spark, "java.util.Arrays").stream(numbers).boxed().toList()
    closeable = iceberg_class(spark, "io.CloseableIterable")
    # `withNoopClose` is also there for one element, which a list may be taken for: which of the two
    # is called depends on the order in which a JVM lists them.
    rows = closeable.combine(boxed, closeable.empty())
    return iceberg_class(spark, "deletes.Deletes").toPositionIndex(rows)


def _function(spark: SparkSession, values: Any) -> Any:  # noqa: ANN401
    """A Java map as the function that looks things up in it; null where there is nothing."""
    converters = "scala.jdk.javaapi.CollectionConverters", "scala.jdk.javaapi.FunctionConverters"
    collections, functions = (java_class(spark, name) for name in converters)
    return functions.asJavaFunction(collections.asScala(values).withDefaultValue(None))
