"""Writes what a batch does to one table on its staging branch.

In: the winners of the batch and how many of each kind they are. Out: commits on the branches of
the silver table: rows deleted, rows appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyiceberg.catalog import Catalog
from pyspark.sql import DataFrame, SparkSession

from lakehouse.envelope import DELETE, UPDATE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.schemas.types import Column
from lakehouse.spark import branches, metadata, tables
from lakehouse.spark.decoding.truncates import Truncate, end_of
from lakehouse.spark.decoding.values import decode_default
from lakehouse.spark.parsing.epochs import epoch_of
from lakehouse.spark.rows import row_key
from lakehouse.spark.sql import literal
from lakehouse.spark.staging import silver

EPOCH = f"{epoch_of('position')} AS epoch"
COORDINATES = (
    "timestamp_millis(source_ts_ms) AS source_ts",
    "topic",
    "partition",
    "offset",
)
# Up to this many winners go into one file; where cores are free, each writes one of so many.
ROWS_PER_FILE, _LEAST_PER_FILE = 500_000, 25_000


@dataclass(frozen=True, slots=True)
class Work:
    """One table's staging: everything that its functions share.

    Attributes:
        messages: How many messages of the batch are the table's at most.
        octets: How much text these have.
        secret: What the values of hashed columns are hashed with.
        replay: Whether the batch is of quarantined messages.
        touched: The global view of the `row_key` of the rows that are made; empty for all.
        heads: Silver and state table → the snapshot that the batch builds on, where there is one.
    """

    spark: SparkSession
    catalog: Catalog
    plan: TablePlan
    branch: str
    summary: Mapping[str, str]
    check: Callable[[], None]
    messages: int
    octets: int
    secret: bytes = field(default=b"", repr=False)
    replay: bool = False
    touched: str = ""
    heads: Mapping[str, int] = field(default_factory=dict)

    def has_rows(self, table: str) -> bool:
        """Whether the batch builds on rows of one of the plan's tables."""
        return self.plan.exists and (metadata.head(self.catalog, table, self.plan.base) is not None)

    def begin(self, table: str) -> None:
        """Begin to write one of the plan's tables on the branch; a rebuild has begun it."""
        is_begun = self.plan.base == self.branch
        if not (is_begun and self.branch in metadata.refs(self.catalog, table)):
            branches.create_branch(self.spark, table, self.branch)


def write_silver(
    work: Work, folded: DataFrame, numbers: Mapping[str, int], truncates: Sequence[Truncate]
) -> int:
    """Rows that changed or went are deleted, winners appended; added columns get their default.

    Args:
        work: The table and its branch.
        folded: From `collapse.winners`; where deleted rows stay, from `soft.keep_deleted`.
        numbers: How many winners are `standing` (have a row before) and `upserts` (have one
            after).
        truncates: Those of this batch, oldest first.

    Returns:
        How many other rows were marked as deleted.
    """
    spark, plan = work.spark, work.plan
    work.begin(plan.silver)
    cdc = quote_ident(silver.cdc_name(plan.columns))
    if plan.exists:
        fill_defaults(work, plan.silver)
    if truncates and not plan.soft:
        old = f"{cdc}.position < {literal(truncates[-1].position)}"
        tables.delete_on_branch(spark, plan.silver, work.branch, old, work.summary)
    if numbers["standing"]:
        folded.where("standing").createOrReplaceTempView("changed_keys")
        condition = f"({_names(plan)}) IN (SELECT {_names(plan, 'key.')} FROM changed_keys)"
        tables.delete_on_branch(spark, plan.silver, work.branch, condition, work.summary)
    marked = _mark_truncated(work, truncates) if truncates and plan.soft else 0
    if numbers["upserts"]:
        kept = folded.where("kept")
        if plan.is_bag:
            kept = kept.selectExpr("*", "explode(sequence(1, copies)) AS copy")
        rows = kept.selectExpr(*new_row(plan))
        files = rows.coalesce(_files(work, numbers["upserts"]))
        tables.append_on_branch(files, plan.silver, work.branch, work.summary)
    return marked


def _files(work: Work, rows: int) -> int:
    cores = work.spark.sparkContext.defaultParallelism
    return max(1 + rows // ROWS_PER_FILE, min(cores, rows // _LEAST_PER_FILE))


def new_row(plan: TablePlan) -> tuple[str, ...]:
    """The columns of a winner's row."""
    # Of equal rows some may stay when one is deleted; a row that is there is no deleted one.
    op = f"if(op = {literal(DELETE)}, {literal(UPDATE)}, op) AS op" if plan.is_bag else "op"
    event = ", ".join((op, "position", EPOCH, *COORDINATES))
    return "image.*", f"struct({event}) AS {quote_ident(silver.cdc_name(plan.columns))}"


def fill_defaults(work: Work, table: str, where: str = "true") -> None:
    """Rows older than an added column get its constant default."""
    if added := fills(work.plan):
        values = _assignments(work, added)
        tables.update_on_branch(work.spark, table, work.branch, values, work.summary, where=where)


def fills(plan: TablePlan) -> list[Column]:
    """The added columns whose constant default older rows get."""
    added = {column.name.lower() for column in plan.schema.add}
    return [column for name, column in plan.defaults.items() if name in added]


def _mark_truncated(work: Work, truncates: Sequence[Truncate]) -> int:
    """Mark the live rows that a truncate took and that no event of the batch names."""
    spark, plan = work.spark, work.plan
    cdc = quote_ident(silver.cdc_name(plan.columns))
    old = f"{cdc}.position < {literal(truncates[-1].position)} AND {silver.is_live(cdc)}"
    branch = spark.table(tables.full_name(plan.silver, work.branch))
    taken = branch.where(old).count()
    if taken:
        end = end_of(truncates, f"t.position > {cdc}.position")
        place = (
            f"t.op, t.position, {epoch_of('t.position')} AS epoch, "
            "timestamp_millis(t.source_ts_ms) AS source_ts, "
            "t.topic, t.partition, t.offset"
        )
        value = f"transform(array({end}), t -> struct({place}))[0]"
        tables.update_on_branch(
            spark, plan.silver, work.branch, f"{cdc} = {value}", work.summary, where=old
        )
    return taken


def _names(plan: TablePlan, prefix: str = "") -> str:
    """What names a row, in the table or, with a prefix, among the winners."""
    if plan.is_bag:
        return "row_key" if prefix else row_key(plan)
    return ", ".join(prefix + quote_ident(name) for name in plan.key)


def _assignments(work: Work, added: Iterable[Column]) -> str:
    """The constant defaults of added columns as Spark SQL, computed once by the engine."""
    columns = list(added)
    values = work.spark.range(1).selectExpr(
        *(
            f"hex({value})" if column.type.spark == "binary" else f"CAST({value} AS string)"
            for column in columns
            for value in [decode_default(column)]
        )
    )
    row = values.collect()[0]
    return ", ".join(
        f"{quote_ident(column.name)} = {_constant(row[index], column.type.spark)}"
        for index, column in enumerate(columns)
    )


def _constant(text: str | None, kind: str) -> str:
    if text is None:
        return "NULL"
    quoted = literal(text)
    return f"unhex({quoted})" if kind == "binary" else f"CAST({quoted} AS {kind})"
