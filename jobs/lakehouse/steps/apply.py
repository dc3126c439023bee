"""Step `apply`: change events between two cuts into staged silver, table by table.

In: bronze, the newest published cut, what `check` holds. Out: a staging branch on each changed
silver table and a `StagedCut` in the run's row. `main` does not move; a killed attempt leaves a
branch that nobody reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import pyspark.sql.functions as F

from lakehouse.config import mask_secret
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.conservation import Law, balance, pending_of, to_json_counts
from lakehouse.plan.following import follow_renames
from lakehouse.plan.handover import start_of_batch
from lakehouse.plan.progress import Progress
from lakehouse.plan.table_names import TableNames
from lakehouse.plan.tables import TablePlan
from lakehouse.quality.statements import incarnations, renames
from lakehouse.spark import metadata
from lakehouse.spark.batch import Since, open_batch
from lakehouse.spark.bronze import OFFSETS_PROPERTY, RUN_ID_PROPERTY, Bronze
from lakehouse.spark.leases import Leases
from lakehouse.spark.stage import Staged, stage_table
from lakehouse.spark.writing import Work
from lakehouse.steps.applying import Applying, staged_cut
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.forwarding import roll_forward
from lakehouse.steps.outcomes import outcomes
from lakehouse.steps.planning import table_plans
from lakehouse.steps.quarantine import quarantine

# Tables that are staged at once; each has few Spark jobs and many small waits.
_WORKERS = 4


def run(context: StepContext) -> StepOutcome:
    """Stage what is landed and not applied.

    Raises:
        Superseded: Another run holds the lease.
    """
    connector = CONNECTORS[context.source.connector]
    leases = Leases(context.ledger.catalog, context.source.name)
    token = leases.take(context.run_id)
    with leases.held(token, context.run_id, lone_step=context.lone_step) as check:
        roll_forward(context, check)
        cut = context.ledger.newest_cut(context.source.name)
        landed = Bronze(context.source.name, context.ledger).landed(context.spark)
        recorded = context.ledger.schema_versions(context.source.name)
        lives = incarnations(recorded, connector.name)
        since = Since(start_of_batch(cut), cut.position if cut else "", lives)
        followed = follow_renames(context.source, renames(recorded, connector.name), lives)
        context = replace(context, source=followed)
        batch = open_batch(context.spark, context.source, connector, since, landed, context.until)
        work = Applying(context, connector, token, check, cut, since, batch)
        return _apply(work, *table_plans(work, recorded))


def _apply(work: Applying, plans: list[TablePlan], names: TableNames) -> StepOutcome:
    staged = _stage_all(work, [plan for plan in plans if plan.versions])
    found = quarantine(work.context, work.batch, staged)
    laws = balance(outcomes(work.batch, work.context.source, plans, staged, found, _pending(work)))
    cut = staged_cut(work, plans, names, staged, _highs(work))
    detail = cast("Mapping[str, Json]", cut.to_detail())
    counts = cast("Mapping[str, Json]", to_json_counts(laws))
    return StepOutcome(_sentence(plans, staged, laws), counts, detail, batch_id=work.cut_id)


def _stage_all(work: Applying, plans: list[TablePlan]) -> dict[str, Staged]:
    """Stage the tables, several at once, each in a session of its own."""
    work.batch.envelopes.createOrReplaceGlobalTempView(_view(work))
    try:
        with ThreadPoolExecutor(_WORKERS) as pool:
            staged = list(pool.map(lambda plan: _stage(work, plan), plans))
    finally:
        work.context.spark.catalog.dropGlobalTempView(_view(work))
    return {plan.silver: result for plan, result in zip(plans, staged, strict=True)}


def _stage(work: Applying, plan: TablePlan) -> Staged:
    session = work.context.spark.newSession()
    summary = {
        RUN_ID_PROPERTY: work.context.run_id,
        metadata.CUT_PROPERTY: work.cut_id,
        "lakehouse.token": str(work.token),
        OFFSETS_PROPERTY: work.batch.end.to_json(),
    }
    envelopes = session.table(f"global_temp.{_view(work)}")
    return stage_table(
        Work(
            session,
            work.context.ledger.catalog,
            plan,
            work.branch,
            summary,
            work.check,
            work.batch.size,
            mask_secret(work.context.source),
        ),
        envelopes,
    )


def _view(work: Applying) -> str:
    return f"envelopes_{work.token}_{re.sub(r'[^a-z0-9]', '_', work.context.source.name)}"


def _highs(work: Applying) -> tuple[Progress, str]:
    """The progress once the batch is published, and its highest position."""
    rows = (
        work.batch.envelopes.groupBy("topic", "partition")
        .agg(F.max("high").cast("string").alias("high"), F.max("position").alias("position"))
        .collect()
    )
    highs = dict(work.since.progress.highs)
    if work.connector.commit_may_be_null:
        for row in rows:
            place = (row["topic"], row["partition"])
            if row["high"] is not None:
                highs[place] = max(highs.get(place, 0), int(row["high"]))
    position = max([work.since.position, *(row["position"] or "" for row in rows)])
    return Progress(work.batch.end, highs), position


def _pending(work: Applying) -> dict[tuple[str, int], int]:
    """What waited after the run that published the newest cut."""
    if work.cut is None:
        return {}
    row = work.context.ledger.newest_run(work.context.source.name, "apply", work.cut.run_id)
    return pending_of(json.loads(row.counts)) if row else {}


def _sentence(
    plans: list[TablePlan], staged: Mapping[str, Staged], laws: Mapping[tuple[str, int], Law]
) -> str:
    applied = sum(law.applied for law in laws.values())
    waiting = sum(law.pending_after for law in laws.values())
    changed = sum(table.changed for table in staged.values())
    held = sum(bool(plan.hold) for plan in plans)
    broken = [f"{topic}[{number}]" for (topic, number), law in laws.items() if not law.holds]
    tail = f"; conservation fails for {', '.join(broken)}" if broken else ""
    return (
        f"{applied} events applied, {changed} of {len(plans)} tables changed, {held} held, "
        f"{waiting} messages wait{tail}"
    )
