"""Step `apply`: change events between two cuts into staged silver, table by table.

In: bronze, the newest published cut, what `check` holds. Out: a staging branch on each changed
silver table and a `StagedCut` in the run's row. `main` does not move; a killed attempt leaves a
branch that nobody reads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from lakehouse.connectors import CONNECTORS
from lakehouse.plan.batches.conservation import Law, balance, pending_of, to_json_counts
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.cuts.lag_words import count_text, held_text
from lakehouse.plan.schemas.table_names import TableNames
from lakehouse.quality.schemas.statements import as_renamed, incarnations
from lakehouse.spark.batches.batch import open_batch
from lakehouse.spark.bronze.lost_offsets import lost_topics
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.ordering.since import since_cut
from lakehouse.spark.staging.stage import Staged
from lakehouse.steps.batches.applying import Applying
from lakehouse.steps.batches.handing_over import held_keys, staged_cut
from lakehouse.steps.batches.outcomes import outcomes
from lakehouse.steps.batches.planning import table_plans
from lakehouse.steps.batches.staging import highs, stage_all
from lakehouse.steps.batches.staleness import stale_columns
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.quarantine import quarantine
from lakehouse.steps.remaking.backfill import backfill
from lakehouse.steps.remaking.reapply import reapply
from lakehouse.steps.remaking.rebuild import rebuild
from lakehouse.steps.removal.erasing import erase
from lakehouse.steps.removal.removing import remove
from lakehouse.steps.turn import Turn, in_turn


def run(context: StepContext) -> StepOutcome:
    """Stage what is landed and not applied; in a replay, what stands in quarantine.

    In a repair, what a comparison found to be gone from the source; in a rebuild, tables that are
    made again from bronze; in a backfill, rows that the messages of an interval touch; in an
    erasure, the rows of some keys, and their messages in bronze.

    Raises:
        Superseded: Another run held the lease all the time.
    """
    if context.erasure is not None:
        return erase(context, context.erasure)
    if context.removals:
        return remove(context)
    if context.replay:
        return reapply(context)
    if context.rebuild is not None:
        return rebuild(context, context.rebuild)
    if context.backfill is not None:
        return backfill(context, context.backfill)
    return in_turn(context, lambda turn: _landed(context, turn))


def _landed(context: StepContext, turn: Turn) -> StepOutcome:
    connector = CONNECTORS[context.source.connector]
    bronze = Bronze(context.source.name, context.ledger)
    landed = bronze.landed(context.spark)
    recorded = context.ledger.schema_versions(context.source.name)
    lives = incarnations(recorded, connector.name)
    since = since_cut(context.spark, context.source, turn.cut, lives)
    context = replace(context, source=as_renamed(context.source, recorded))
    parsed = context.parsed.read(context.spark, context.source, since, bronze, landed)
    lost = lost_topics(bronze, since.progress.offsets)
    batch = open_batch(context.spark, context.source, connector, parsed, context.until, lost)
    work = Applying(context, connector, turn.token, turn.check, turn.cut, since, batch)
    return _apply(work, *table_plans(work, recorded))


def _apply(work: Applying, plans: list[TablePlan], names: TableNames) -> StepOutcome:
    staged = stage_all(work, [plan for plan in plans if plan.versions])
    found = quarantine(work.context, work.batch, staged, plans)
    laws = balance(outcomes(work.batch, work.context.source, plans, staged, found, _pending(work)))
    stale = stale_columns(work, plans, staged)
    cut = staged_cut(work, plans, names, staged, highs(work), stale)
    detail = cast("Mapping[str, Json]", cut.to_detail())
    counts = cast("Mapping[str, Json]", to_json_counts(laws))
    sentence = _sentence(work, plans, staged, laws, len(cut.findings))
    sentence += f"; another program wrote to {', '.join(cut.strayed)}" if cut.strayed else ""
    set_aside = any(law.quarantined for law in laws.values())
    code = 1 if cut.strayed or set_aside else 0
    return StepOutcome(sentence, counts, detail, batch_id=work.cut_id, exit_code=code)


def _pending(work: Applying) -> dict[tuple[str, int], int]:
    """What waited after the run that published the newest cut."""
    if work.cut is None:
        return {}
    row = work.context.ledger.apply_of(work.cut)
    return pending_of(json.loads(row.counts)) if row else {}


def _sentence(
    work: Applying,
    plans: list[TablePlan],
    staged: Mapping[str, Staged],
    laws: Mapping[tuple[str, int], Law],
    findings: int,
) -> str:
    applied = sum(law.applied for law in laws.values())
    changed = sum(table.changed for table in staged.values())
    held = sum(bool(plan.hold) for plan in plans)
    keys = sum(held_keys(work, staged).values())
    broken = [f"{topic}[{number}]" for (topic, number), law in laws.items() if not law.holds]
    quarantined = sum(law.quarantined for law in laws.values())
    told = [f"{count_text(quarantined, 'message')} quarantined"] if quarantined else []
    told += [count_text(findings, "finding")] if findings else []
    see = f" (lakehouse report --source {work.context.source.name})"
    tail = f"; {', '.join(told)}{see}" if told else ""
    tail += f"; {held_text(keys)}" if keys else ""
    tail += f"; conservation fails for {', '.join(broken)}" if broken else ""
    return (
        f"{applied} events applied, {changed} of {len(plans)} tables changed, {held} held, "
        f"{_waiting(laws)}{tail}"
    )


def _waiting(laws: Mapping[tuple[str, int], Law]) -> str:
    reasons = {
        "for the rest of a transaction": sum(law.open_transaction for law in laws.values()),
        "for a table that is held": sum(law.held_table for law in laws.values()),
    }
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.items() if count)
    waiting = sum(law.pending_after for law in laws.values())
    return f"{waiting} messages wait" + (f" ({told})" if told else "")
