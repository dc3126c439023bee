"""The tables of a rebuild, staged on a branch that does not begin at `main`.

In: the cut that they are built to, or the rebuild that is taken back. Out: a `Built` value; later
the same with what was published meanwhile. The code is that of an ordinary apply, which begins
without a row and takes all that bronze has of the tables as one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyspark.sql.functions as F

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.plan.epochs import epochs_from_json
from lakehouse.plan.handover import StagedTable
from lakehouse.plan.progress import Progress
from lakehouse.plan.rebuilding import (
    REBUILDING,
    Choice,
    Ground,
    Rebuild,
    granted,
    landed_messages,
    refuse_gaps,
    refuse_meanwhile,
)
from lakehouse.plan.records import CutRow
from lakehouse.plan.replay import taken_out
from lakehouse.plan.table_names import TableNames
from lakehouse.plan.tables import TablePlan
from lakehouse.quality.statements import as_renamed, incarnations
from lakehouse.spark import metadata, silver
from lakehouse.spark.batch import open_until
from lakehouse.spark.bronze import Bronze
from lakehouse.spark.replacing import begin_empty
from lakehouse.spark.since import Since
from lakehouse.spark.stage import Staged
from lakehouse.steps.applying import Applying, Rebuilt, slug, staged_table
from lakehouse.steps.context import StepContext
from lakehouse.steps.planning import table_plans
from lakehouse.steps.staging import stage_all


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


def build(context: StepContext, rebuild: Rebuild, cut: CutRow, choice: Choice) -> Built:
    """Stage what bronze has of tables up to a cut, while others may publish.

    Raises:
        StepFailed: Bronze lacks messages, or a table does not fit today's schema or TOML file.
    """
    _refuse_gaps(context)
    begun, branch = datetime.now(UTC), branch_of(context)
    grounds = {
        name: Ground(silver.stored_columns(context.spark, name), base=branch, is_empty=True)
        for name in choice.tables
    }
    since = Since(Progress(), epochs=epochs_from_json(cut.epochs))
    work = _opened(context, cut, cut.token, lambda: None, since, Rebuilt(branch, grounds))
    plans, names = _plans(work)
    _refuse_names(work, plans, names, choice)
    reasons = {plan.silver: plan.hold for plan in plans if plan.hold}
    silent = choice.tables.keys() - {plan.silver for plan in plans if plan.versions or plan.hold}
    reasons |= dict.fromkeys(silent, "bronze has no change event of it")
    tables = {name: table for name, table in choice.tables.items() if name not in reasons}
    choice = granted(cut.source, Choice(tables, {**choice.left, **reasons}), rebuild)
    fitting = tuple(plan for plan in plans if plan.silver in choice.tables)
    for plan in fitting:
        _empty(work, plan)
    part = Part(work, fitting, stage_all(work, list(fitting)))
    tables_ = {plan.silver: staged_table(plan, part.staged[plan.silver]) for plan in fitting}
    columns = {plan.silver: plan.columns for plan in fitting}
    return Built(cut, begun, branch, choice.left, tables_, columns, (part,))


def catch_up(
    context: StepContext, built: Built, newest: CutRow, token: int, check: Callable[[], None]
) -> Built:
    """Stage what was published behind the cut that tables are built to; under the lease.

    Raises:
        StepFailed: It cannot be caught up.
        Superseded: Another run took the lease.
    """
    name = context.source.name
    behind = [
        row
        for row in context.ledger.cuts(name)
        if row.state == "published" and row.cut_id > built.cut.cut_id
    ]
    replayed = taken_out(context.ledger.quarantine(name), built.begun, built.cut.run_id)
    refuse_meanwhile(built.cut, behind, built.tables, replayed)
    start = Progress.from_json(built.cut.offsets)
    if newest.offsets == built.cut.offsets:
        return built
    grounds = {
        silver_: Ground(built.columns[silver_], start, built.cut.position, table.held, built.branch)
        for silver_, table in built.tables.items()
    }
    since = Since(start, built.cut.position, start.offsets, epochs=epochs_from_json(newest.epochs))
    work = _opened(context, newest, token, check, since, Rebuilt(built.branch, grounds))
    plans, _ = _plans(work)
    if held := [f"{plan.silver}: {plan.hold}" for plan in plans if plan.hold]:
        raise StepFailed(
            f"Source {name!r}: built to cut {built.cut.cut_id}, and then {'; '.join(held)}: "
            "expected changes that silver follows; nothing was replaced, do the rebuild again"
        )
    plans = [plan for plan in plans if plan.versions]
    part = Part(work, tuple(plans), stage_all(work, plans))
    later = {plan.silver: staged_table(plan, part.staged[plan.silver]) for plan in plans}
    tables = {n: _both(table, later.get(n)) for n, table in built.tables.items()}
    return replace(built, tables=tables, parts=(*built.parts, part))


def _both(table: StagedTable, later: StagedTable | None) -> StagedTable:
    """A table after two batches."""
    if later is None:
        return table
    lacking = {
        name: table.unresolved.get(name, 0) + later.unresolved.get(name, 0)
        for name in {**table.unresolved, **later.unresolved}
    }
    topics = tuple(sorted({*table.topics, *later.topics}))
    return replace(later, unresolved=lacking, topics=topics, truncated=False)


def _opened(
    context: StepContext,
    cut: CutRow,
    token: int,
    check: Callable[[], None],
    since: Since,
    rebuilt: Rebuilt,
) -> Applying:
    connector = CONNECTORS[context.source.connector]
    recorded = context.ledger.schema_versions(context.source.name)
    since = replace(since, incarnations=incarnations(recorded, connector.name))
    context = replace(context, source=as_renamed(context.source, recorded))
    end = Progress.from_json(cut.offsets).offsets
    batch = open_until(context.spark, context.source, connector, since, end)
    return Applying(context, connector, token, check, cut, since, batch, rebuilt)


def _plans(work: Applying) -> tuple[list[TablePlan], TableNames]:
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
    renamed = sorted(plan.silver for plan in plans if plan.renames)
    if moved or renamed:
        source = work.context.source.name
        raise StepFailed(
            f"Source {source!r}: the next run gives {', '.join((*moved, *renamed))}, or columns of "
            f"it, other names: expected it to have gone first; do `lakehouse run --source "
            f"{source}`, then the rebuild again"
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
