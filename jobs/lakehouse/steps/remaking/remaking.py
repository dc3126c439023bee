"""Tables made again from bronze, on a branch that begins without a row.

In: a cut and the tables that are built to it. Out: a `Built` value. The code is that of an ordinary
apply, which takes all that bronze has of the tables as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyspark.sql.functions as F

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.plan.epochs import epochs_from_json
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.rebuilding import REBUILDING, Choice, Ground
from lakehouse.plan.remaking.replaceable import landed_messages, refuse_gaps
from lakehouse.plan.schemas.table_names import TableNames
from lakehouse.quality.schemas.statements import as_renamed, incarnations
from lakehouse.spark import metadata
from lakehouse.spark.batches.batch import open_until
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.rewriting.replacing import begin_empty
from lakehouse.spark.staging import silver
from lakehouse.spark.staging.stage import Staged
from lakehouse.steps.batches.applying import Applying, Rebuilt, slug
from lakehouse.steps.batches.handing_over import staged_table
from lakehouse.steps.batches.planning import table_plans
from lakehouse.steps.batches.staging import stage_all
from lakehouse.steps.context import StepContext


@dataclass(frozen=True, slots=True)
class Part:
    """What one batch made of the tables."""

    work: Applying
    plans: tuple[TablePlan, ...]
    staged: Mapping[str, Staged]


@dataclass(frozen=True, slots=True)
class Built:
    """Tables on the branch of a rebuild.

    Attributes:
        cut: What they are built to.
        begun: When the messages of the quarantine were judged; a replay since then is not in them.
        branch: Of every table.
        left: Silver table → why it stays as it is.
        tables: Silver table → what is staged.
        columns: Silver table → its columns, name → Spark type.
        parts: The batches, oldest first.
    """

    cut: CutRow
    begun: datetime
    branch: str
    left: Mapping[str, str]
    tables: Mapping[str, StagedTable]
    columns: Mapping[str, Mapping[str, str]]
    parts: tuple[Part, ...] = ()


def branch_of(context: StepContext) -> str:
    """The branch of a rebuild; no other run or attempt has it."""
    return f"{REBUILDING}{slug(context)}"


def begin(
    context: StepContext, cut: CutRow, choice: Choice, fence: tuple[int, Callable[[], None]]
) -> Applying:
    """Open all that bronze has up to a cut, for tables that begin without a row.

    Args:
        context: The run.
        cut: What they are built to.
        choice: The tables.
        fence: The token of their commits, and the check before each.

    Raises:
        StepFailed: Bronze lacks messages.
    """
    _refuse_gaps(context)
    branch = branch_of(context)
    grounds = {
        name: Ground(silver.stored_columns(context.spark, name), base=branch, is_empty=True)
        for name in choice.tables
    }
    since = Since(Progress(), epochs=epochs_from_json(cut.epochs))
    return opened(context, cut, *fence, since, Rebuilt(branch, grounds))


def fitting(work: Applying, choice: Choice) -> tuple[Choice, tuple[TablePlan, ...]]:
    """The plans of the tables that fit today's schema and TOML file.

    Args:
        work: From `begin`.
        choice: The tables.

    Returns:
        What is left of the choice, and a plan for each of its tables.

    Raises:
        StepFailed: A table, or a column, gets another name with the next run.
    """
    plans, names = plans_of(work)
    _refuse_names(work, plans, names, choice)
    reasons = {plan.silver: plan.hold for plan in plans if plan.hold}
    silent = choice.tables.keys() - {plan.silver for plan in plans if plan.versions or plan.hold}
    reasons |= dict.fromkeys(silent, "bronze has no change event of it")
    tables = {name: table for name, table in choice.tables.items() if name not in reasons}
    choice = Choice(tables, {**choice.left, **reasons})
    return choice, tuple(plan for plan in plans if plan.silver in tables)


def staged(
    work: Applying,
    plans: Sequence[TablePlan],
    choice: Choice,
    since: tuple[CutRow, datetime],
    touched: Mapping[str, str] | None = None,
) -> Built:
    """Stage tables that begin without a row.

    Args:
        work: From `begin`.
        plans: From `fitting`.
        choice: From `fitting`.
        since: The cut that they are built to, and when that began.
        touched: Silver table → the global view of the rows that are made; of the others all are.
    """
    for plan in plans:
        _empty(work, plan)
    part = Part(work, tuple(plans), stage_all(work, plans, touched))
    tables = {plan.silver: staged_table(plan, part.staged[plan.silver]) for plan in plans}
    columns = {plan.silver: plan.columns for plan in plans}
    return Built(*since, work.branch, choice.left, tables, columns, (part,))


def opened(
    context: StepContext,
    cut: CutRow,
    token: int,
    check: Callable[[], None],
    since: Since,
    rebuilt: Rebuilt,
) -> Applying:
    """Open what bronze has between what is built already and a cut.

    Args:
        context: The run.
        cut: Where it ends.
        token: Fencing token of the commits.
        check: Refuses to go on once another run took the lease.
        since: Where it begins.
        rebuilt: The branch of the tables, and what each builds on.
    """
    connector = CONNECTORS[context.source.connector]
    recorded = context.ledger.schema_versions(context.source.name)
    since = replace(since, incarnations=incarnations(recorded, connector.name))
    context = replace(context, source=as_renamed(context.source, recorded))
    end = Progress.from_json(cut.offsets).offsets
    batch = open_until(context.spark, context.source, connector, since, end)
    return Applying(context, connector, token, check, cut, since, batch, rebuilt)


def plans_of(work: Applying) -> tuple[list[TablePlan], TableNames]:
    """The plans of the tables that are made again, and what silver's tables are called."""
    return table_plans(work, work.context.ledger.schema_versions(work.context.source.name))


def _refuse_gaps(context: StepContext) -> None:
    name, spark = context.source.name, context.spark
    rows = (
        Bronze(name, context.ledger)
        .messages(spark)
        .groupBy("topic", "partition")
        .agg(F.count("*").alias("messages"), F.collect_set("topic_id").alias("ids"))
        .collect()
    )
    ids: dict[str, set[str]] = {}
    for row in rows:
        ids.setdefault(row["topic"], set()).update(row["ids"])
    there = {(row["topic"], row["partition"]): row["messages"] for row in rows}
    refuse_gaps(name, landed_messages(context.ledger.runs(name)), there, ids)


def _refuse_names(
    work: Applying, plans: list[TablePlan], names: TableNames, choice: Choice
) -> None:
    """Names change in an ordinary run alone."""
    mine = {name.rpartition(".")[2] for name in choice.tables}
    moved = sorted({was for was, name in names.moves if {was, name} & mine})
    renamed = sorted(plan.silver for plan in plans if plan.renames or plan.dropped)
    if moved or renamed:
        source = work.context.source.name
        raise StepFailed(
            f"Source {source!r}: the next run gives {', '.join((*moved, *renamed))}, or columns of "
            f"it, other names, or drops columns: expected it to have gone first; do `lakehouse run "
            f"--source {source}`, then the rebuild again"
        )


def _empty(work: Applying, plan: TablePlan) -> None:
    """The branch without rows, of each of a plan's tables that is there."""
    # What is asked of a branch alone is not asked by columns that came after it.
    silver.prepare(work.context.spark, plan)
    catalog, session = work.context.ledger.catalog, work.context.spark.newSession()
    summary = {metadata.CUT_PROPERTY: work.cut_id}
    for table in (plan.silver, plan.state, *((plan.history_table,) if plan.history else ())):
        if metadata.load_metadata(catalog, table) is not None:
            begin_empty(session, catalog, table, work.branch, summary)
