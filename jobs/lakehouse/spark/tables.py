"""The only writer of Iceberg data through Spark: tables, branches, tags, staged rows.

In: DataFrames and identifiers such as `bronze.inventory` (catalog `lakehouse`). Out: commits.
Rows are always staged on a branch; `main` moves only by a fast-forward, which Iceberg refuses
when `main` is not an ancestor of the branch (https://iceberg.apache.org/docs/latest/branching/).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from lakehouse.errors import MainMoved
from lakehouse.names import quote_ident, quote_table
from lakehouse.plan.catalog import CATALOG
from lakehouse.plan.tables import MAIN
from lakehouse.spark.sql import literal

# How often a change of a ref is tried.
_TRIES = 10
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
    columns = ", ".join(_column_ddl(field) for field in schema.fields)
    options = ", ".join(f"'{key}'='{value}'" for key, value in sorted(properties.items()))
    transforms = ", ".join(partitioning)
    partitions = f" PARTITIONED BY ({transforms})" if transforms else ""
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {full_name(table)} ({columns}) USING iceberg{partitions}"
        f" TBLPROPERTIES ({options})"
    )


def _create_namespace(spark: SparkSession, namespace: str) -> None:
    """Create the namespace; two processes may do so at once, and the second one's error is none."""
    name = f"{CATALOG}.{quote_table(namespace)}"
    try:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}")
    except (PySparkException, Py4JJavaError):
        if not spark.catalog.databaseExists(name):
            raise


def create_branch(spark: SparkSession, table: str, branch: str, *, at: int | None = None) -> None:
    """Create the branch at the table's current `main` (an empty one on a new table).

    Args:
        spark: The session.
        table: Namespace and name.
        branch: Its name; one that is there stays where a snapshot is given.
        at: The snapshot to create it at instead.
    """
    name = quote_ident(branch)
    where = name if at is None else f"IF NOT EXISTS {name} AS OF VERSION {at}"
    _until_committed(spark, f"ALTER TABLE {full_name(table)} CREATE BRANCH {where}")


def drop_branch(spark: SparkSession, table: str, branch: str) -> None:
    """Drop the branch if it is there."""
    drop = f"ALTER TABLE {full_name(table)} DROP BRANCH IF EXISTS {quote_ident(branch)}"
    _until_committed(spark, drop)


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
    writer = df.writeTo(full_name(table, branch))
    for key, value in (summary or {}).items():
        writer = writer.option(_SUMMARY + key, value)
    writer.append()


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
    with _session_summary(spark, summary):
        spark.sql(f"DELETE FROM {full_name(table, branch)} WHERE {condition}")


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
    with _session_summary(spark, summary):
        spark.sql(f"UPDATE {full_name(table, branch)} SET {assignments} WHERE {where}")


def fast_forward(spark: SparkSession, table: str, branch: str) -> int:
    """Move `main` to the branch's head.

    Returns:
        The snapshot id that `main` has now.

    Raises:
        MainMoved: `main` has commits that the branch does not start from.
    """
    call = f"CALL {CATALOG}.system.fast_forward('{full_name(table)}', '{MAIN}', '{branch}')"
    try:
        rows = spark.sql(call).collect()
    except (PySparkException, Py4JJavaError) as failure:
        if is_lost_race(str(failure)):
            raise MainMoved(
                f"Table {table!r}: branch {branch!r} does not start at the current main: "
                "expected no other commit meanwhile; the step has to be staged again"
            ) from failure
        raise
    return int(rows[0]["updated_ref"])


def set_main(spark: SparkSession, table: str, snapshot_id: int) -> None:
    """Make a snapshot the head of `main`, whatever `main` was."""
    spark.sql(f"CALL {CATALOG}.system.set_current_snapshot('{full_name(table)}', {snapshot_id})")


def create_tag(spark: SparkSession, table: str, tag: str, snapshot_id: int) -> None:
    """Tag a snapshot; a tag that is there already keeps its snapshot."""
    create = f"CREATE TAG IF NOT EXISTS {quote_ident(tag)} AS OF VERSION {snapshot_id}"
    _until_committed(spark, f"ALTER TABLE {full_name(table)} {create}")


def drop_tag(spark: SparkSession, table: str, tag: str) -> None:
    """Drop the tag if it is there; its snapshot stays until it expires."""
    _until_committed(spark, f"ALTER TABLE {full_name(table)} DROP TAG IF EXISTS {quote_ident(tag)}")


def add_columns(spark: SparkSession, table: str, fields: Iterable[T.StructField]) -> None:
    """Add nullable columns at the end, in one commit."""
    columns = ", ".join(_column_ddl(field) for field in fields)
    spark.sql(f"ALTER TABLE {full_name(table)} ADD COLUMNS ({columns})")


def widen_column(spark: SparkSession, table: str, column: str, spark_type: str) -> None:
    """Promote a column's type as Iceberg allows it."""
    spark.sql(
        f"ALTER TABLE {full_name(table)} ALTER COLUMN {quote_ident(column)} TYPE {spark_type}"
    )


def rename_column(spark: SparkSession, table: str, was: str, name: str) -> None:
    """Give a column another name; its field id and its data stay."""
    spark.sql(
        f"ALTER TABLE {full_name(table)} RENAME COLUMN {quote_ident(was)} TO {quote_ident(name)}"
    )


def drop_columns(spark: SparkSession, table: str, columns: Sequence[str]) -> None:
    """Drop columns, in one commit; one that is gone already stays so.

    A column of the same name that comes later is another one, with a field id of its own.
    """
    if columns:
        names = ", ".join(map(quote_ident, columns))
        spark.sql(f"ALTER TABLE {full_name(table)} DROP COLUMNS IF EXISTS ({names})")


def rename_table(spark: SparkSession, table: str, name: str) -> None:
    """Give a table another name in its namespace; its files stay where they are."""
    spark.sql(f"ALTER TABLE {full_name(table)} RENAME TO {quote_table(name)}")


def set_properties(spark: SparkSession, table: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table."""
    pairs = ", ".join(f"{literal(name)} = {literal(text)}" for name, text in properties.items())
    spark.sql(f"ALTER TABLE {full_name(table)} SET TBLPROPERTIES ({pairs})")


def _column_ddl(field: T.StructField) -> str:
    comment = field.metadata.get("comment")
    text = f"{quote_ident(field.name)} {type_ddl(field.dataType)}"
    return f"{text} COMMENT {literal(comment)}" if comment else text


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


def _until_committed(spark: SparkSession, change: str) -> None:
    """Repeat a change of a ref that lost a race: Iceberg does not repeat these by itself."""
    for left in reversed(range(_TRIES)):
        try:
            spark.sql(change)
        except (PySparkException, Py4JJavaError) as failure:
            if not left or "CommitFailedException" not in str(failure):
                raise
        else:
            return


def is_lost_race(message: str) -> bool:
    """Whether an error says that another commit came first."""
    return "not an ancestor" in message or "CommitFailedException" in message


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
