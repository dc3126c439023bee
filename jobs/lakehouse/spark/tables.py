"""The only writer of rows through Spark: tables made, and rows staged on their branches.

In: DataFrames and identifiers such as `bronze.inventory` (catalog `lakehouse`). Out: commits, which
are there whatever an error says (`spark.commits`). Rows are always staged on a branch; `main` moves
to it by `spark.branches`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from lakehouse.names import quote_ident, quote_table
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.catalog import CATALOG
from lakehouse.spark.commits import FAILURES, change, write_rows
from lakehouse.spark.sql import literal

_SUMMARY = "snapshot-property."
_SESSION_SUMMARY = "spark.sql.iceberg.snapshot-property."


def full_name(table: str, branch: str | None = None) -> str:
    """The quoted name for Spark SQL, with the branch as Iceberg spells it in a name."""
    name = f"{CATALOG}.{quote_table(table)}"
    return f"{name}.{quote_ident('branch_' + branch)}" if branch else name


def snapshot_name(table: str, snapshot: int) -> str:
    """The quoted name for Spark SQL of a table as it was at a snapshot."""
    return f"{full_name(table)}.{quote_ident(f'snapshot_id_{snapshot}')}"


def at_ref(spark: SparkSession, table: str, ref: str) -> DataFrame:
    """The rows of a table's `main`, or of another branch."""
    return spark.table(full_name(table, None if ref == MAIN else ref))


def exists(spark: SparkSession, table: str) -> bool:
    """Whether the catalog has the table."""
    return bool(spark.catalog.tableExists(full_name(table)))


def create_table(
    spark: SparkSession,
    table: str,
    schema: T.StructType,
    properties: Mapping[str, str],
    partitioning: Iterable[str] = (),
) -> None:
    """Create the table, and its namespace, unless they are there; `main` is empty then.

    Args:
        spark: The session.
        table: Namespace and name.
        schema: Columns; a field's `comment` metadata becomes its doc.
        properties: Table properties, `format-version` among them.
        partitioning: Partition transforms in Spark SQL, such as `days(landed_at)`.
    """
    namespace = table.rpartition(".")[0]
    _create_namespace(spark, namespace)
    columns = ", ".join(column_ddl(field) for field in schema.fields)
    options = properties_sql(properties)
    transforms = ", ".join(partitioning)
    partitions = f" PARTITIONED BY ({transforms})" if transforms else ""
    create = (
        f"CREATE TABLE IF NOT EXISTS {full_name(table)} ({columns}) USING iceberg{partitions}"
        f" TBLPROPERTIES ({options})"
    )
    change(spark, create, lambda: exists(spark, table))


def _create_namespace(spark: SparkSession, namespace: str) -> None:
    """Create the namespace; two processes may do so at once, and the second one's error is none."""
    name = f"{CATALOG}.{quote_table(namespace)}"
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}")
    except FAILURES:
        if not spark.catalog.databaseExists(name):
            raise


def append_on_branch(
    df: DataFrame, table: str, branch: str, summary: Mapping[str, str] | None = None
) -> None:
    """Append rows to a branch in one commit.

    Args:
        df: Rows with the table's columns, by name.
        table: Namespace and name.
        branch: An existing branch.
        summary: Properties that the commit's snapshot carries.
    """

    def append(marker: Mapping[str, str]) -> None:
        writer = df.writeTo(full_name(table, branch))
        for key, value in {**(summary or {}), **marker}.items():
            writer = writer.option(_SUMMARY + key, value)
        writer.append()

    write_rows(df.sparkSession, full_name(table), branch, append)


def append_nothing(
    spark: SparkSession, table: str, branch: str, summary: Mapping[str, str]
) -> None:
    """Commit properties to a branch, in a snapshot of the same rows with the table's schema."""
    append_on_branch(spark.table(full_name(table)).limit(0), table, branch, summary)


def delete_on_branch(
    spark: SparkSession, table: str, branch: str, condition: str, summary: Mapping[str, str]
) -> None:
    """Delete rows of a branch that fulfil a Spark SQL condition.

    Args:
        spark: A session of this table's worker: the summary is set in its configuration.
        table: Namespace and name.
        branch: An existing branch.
        condition: Spark SQL; it may name temporary views of the session.
        summary: Properties that the commit's snapshot carries.
    """
    delete = f"DELETE FROM {full_name(table, branch)} WHERE {condition}"
    _write_by_sql(spark, table, branch, delete, summary)


def update_on_branch(
    spark: SparkSession,
    table: str,
    branch: str,
    assignments: str,
    summary: Mapping[str, str],
    *,
    where: str = "true",
) -> None:
    """Set columns of the rows of a branch that fulfil a condition (Spark SQL `SET` text)."""
    update = f"UPDATE {full_name(table, branch)} SET {assignments} WHERE {where}"
    _write_by_sql(spark, table, branch, update, summary)


def merge_on_branch(
    spark: SparkSession, table: str, branch: str, merge: str, summary: Mapping[str, str]
) -> None:
    """Change rows of a branch by the rest of a `MERGE INTO … AS t` statement, from `USING` on."""
    statement = f"MERGE INTO {full_name(table, branch)} AS t {merge}"
    _write_by_sql(spark, table, branch, statement, summary)


def column_ddl(field: T.StructField) -> str:
    """A column as DDL, with its comment."""
    comment = field.metadata.get("comment")
    text = f"{quote_ident(field.name)} {type_ddl(field.dataType)}"
    return f"{text} COMMENT {literal(comment)}" if comment else text


def properties_sql(properties: Mapping[str, str]) -> str:
    """Table properties as SQL; names of columns are among their values."""
    return ", ".join(f"{literal(n)} = {literal(text)}" for n, text in sorted(properties.items()))


def type_ddl(data_type: T.DataType) -> str:
    """A Spark type as DDL whose nested field names are quoted, unlike `simpleString`."""
    if isinstance(data_type, T.StructType):
        fields = (f"{quote_ident(f.name)}: {type_ddl(f.dataType)}" for f in data_type.fields)
        return f"struct<{', '.join(fields)}>"
    if isinstance(data_type, T.ArrayType):
        return f"array<{type_ddl(data_type.elementType)}>"
    if isinstance(data_type, T.MapType):
        return f"map<{type_ddl(data_type.keyType)}, {type_ddl(data_type.valueType)}>"
    return data_type.simpleString()


def _write_by_sql(
    spark: SparkSession, table: str, branch: str, statement: str, summary: Mapping[str, str]
) -> None:
    def write(marker: Mapping[str, str]) -> None:
        with _session_summary(spark, {**summary, **marker}):
            spark.sql(statement)

    write_rows(spark, full_name(table), branch, write)


@contextmanager
def _session_summary(spark: SparkSession, summary: Mapping[str, str]) -> Iterator[None]:
    """Snapshot properties for SQL commits, which take no write options."""
    for key, value in summary.items():
        spark.conf.set(_SESSION_SUMMARY + key, value)
    try:
        yield
    finally:
        for key in summary:
            spark.conf.unset(_SESSION_SUMMARY + key)
