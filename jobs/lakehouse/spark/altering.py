"""A table's columns, name and properties, changed.

In: a table and a change. Out: one commit, which is there whatever an error says
(`spark.commits`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from lakehouse.names import quote_ident, quote_table
from lakehouse.spark.commits import change, load
from lakehouse.spark.tables import column_ddl, exists, full_name, properties_sql, type_ddl


def add_columns(spark: SparkSession, table: str, fields: Iterable[T.StructField]) -> None:
    """Add nullable columns at the end, in one commit."""
    added = list(fields)
    columns = ", ".join(map(column_ddl, added))
    statement = f"ALTER TABLE {full_name(table)} ADD COLUMNS ({columns})"
    names = {field.name for field in added}
    change(spark, statement, lambda: names <= _columns(spark, table).keys())


def widen_column(spark: SparkSession, table: str, column: str, spark_type: str) -> None:
    """Promote a column's type as Iceberg allows it."""
    statement = (
        f"ALTER TABLE {full_name(table)} ALTER COLUMN {quote_ident(column)} TYPE {spark_type}"
    )
    # To widen it to what it is changes nothing.
    change(spark, statement, lambda: False)


def rename_column(spark: SparkSession, table: str, was: str, name: str) -> None:
    """Give a column another name; its field id and its data stay."""
    statement = f"RENAME COLUMN {quote_ident(was)} TO {quote_ident(name)}"

    def is_made() -> bool:
        columns = _columns(spark, table)
        return name in columns and was not in columns

    change(spark, f"ALTER TABLE {full_name(table)} {statement}", is_made)


def drop_columns(spark: SparkSession, table: str, columns: Sequence[str]) -> None:
    """Drop columns, in one commit; one that is gone already stays so.

    A column of the same name that comes later is another one, with a field id of its own.
    """
    if columns:
        names = ", ".join(map(quote_ident, columns))
        drop = f"ALTER TABLE {full_name(table)} DROP COLUMNS IF EXISTS ({names})"
        change(spark, drop, lambda: not {*columns} & _columns(spark, table).keys())


def rename_table(spark: SparkSession, table: str, name: str) -> None:
    """Give a table another name in its namespace; its files stay where they are."""
    rename = f"ALTER TABLE {full_name(table)} RENAME TO {quote_table(name)}"
    change(spark, rename, lambda: exists(spark, name) and not exists(spark, table))


def set_properties(spark: SparkSession, table: str, properties: Mapping[str, str]) -> None:
    """Set properties of a table."""
    pairs = properties_sql(properties)
    statement = f"ALTER TABLE {full_name(table)} SET TBLPROPERTIES ({pairs})"
    change(spark, statement, lambda: _has(spark, table, properties))


def _columns(spark: SparkSession, table: str) -> dict[str, str]:
    """The columns as the catalog has them now, and their types."""
    return {f.name: type_ddl(f.dataType) for f in spark.table(full_name(table)).schema.fields}


def _has(spark: SparkSession, table: str, properties: Mapping[str, str]) -> bool:
    found = load(spark, full_name(table)).properties()
    return all(found.get(name) == text for name, text in properties.items())
