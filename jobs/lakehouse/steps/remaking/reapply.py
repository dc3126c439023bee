"""Replay: what stands in quarantine is judged again and staged by the code of an ordinary apply.

In: open rows of `quality.quarantine`, the newest cut, today's code and TOML file. Out: a staged cut
with the same offsets, and what becomes of each message. Positions decide, so that an older event
never overwrites a newer row; the rows with state `replayed` come once the cut is published, and a
replay that was killed in between finds its events superseded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import is_foreign_topic
from lakehouse.plan.batches.conservation import Law, laws_of, to_json_counts
from lakehouse.plan.batches.tables import Place, TablePlan, TopicPartition
from lakehouse.plan.cuts.published import excluded_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import QUARANTINE, CutRow, QuarantineRow
from lakehouse.plan.remaking.replay import (
    Fate,
    Judgement,
    fate,
    open_rows,
    replay_laws,
    replayed_rows,
    sentence,
)
from lakehouse.quality.schemas.statements import as_renamed, incarnations
from lakehouse.spark.batches.replay import load_messages, open_replay
from lakehouse.spark.ordering.since import since_cut
from lakehouse.spark.staging.stage import Staged
from lakehouse.spark.staging.tally import MAX_QUARANTINED
from lakehouse.steps.batches.applying import Applying
from lakehouse.steps.batches.handing_over import staged_cut
from lakehouse.steps.batches.planning import table_plans
from lakehouse.steps.batches.staging import highs, stage_all
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.turn import Turn, in_turn


def reapply(context: StepContext) -> StepOutcome:
    """Stage what can be applied by now.

    Raises:
        Superseded: Another run held the lease all the time.
        StepFailed: A run has to go first.
    """

    def work(turn: Turn) -> StepOutcome:
        rows = open_messages(context, turn.cut)
        if turn.cut is None or not rows:
            return StepOutcome(sentence({}, {}), ends_run=True)
        return _reapply(_opened(context, turn, turn.cut, rows), rows)

    return in_turn(context, work)


def settle(context: StepContext, cut: CutRow) -> int:
    """Record what a published replay took out of the quarantine.

    Returns:
        How many messages.
    """
    applied = context.ledger.newest_run(context.source.name, "apply", context.run_id)
    found = json.loads(applied.detail).get("fates", []) if applied else []
    left = excluded_of(cut)
    fates = {
        (topic, partition, offset): Fate(became)
        for topic, partition, offset, became, table in found
        if table not in left
    }
    rows = replayed_rows(open_messages(context, cut), fates, context.run_id, datetime.now(UTC))
    context.ledger.append(QUARANTINE, rows)
    return len(rows)


def open_messages(context: StepContext, cut: CutRow | None) -> dict[Place, QuarantineRow]:
    """What a cut has left behind in quarantine."""
    applied = Progress.from_json(cut.offsets if cut else "").offsets
    return open_rows(context.ledger.quarantine(context.source.name), applied)


def _opened(
    context: StepContext, turn: Turn, cut: CutRow, rows: Mapping[Place, QuarantineRow]
) -> Applying:
    connector = CONNECTORS[context.source.connector]
    recorded = context.ledger.schema_versions(context.source.name)
    context = replace(context, source=as_renamed(context.source, recorded))
    lives = incarnations(recorded, connector.name)
    since = since_cut(context.spark, context.source, cut, lives)
    since = replace(since, progress=Progress.from_json(cut.offsets))
    batch = open_replay(context.spark, context.source, connector, since, sorted(rows))
    return Applying(context, connector, turn.token, turn.check, cut, since, batch)


def _reapply(work: Applying, rows: Mapping[Place, QuarantineRow]) -> StepOutcome:
    source = work.context.source
    recorded = work.context.ledger.schema_versions(source.name)
    found, names = table_plans(work, recorded)
    plans = [_from_the_start(plan) for plan in found if _may_replay(work, plan)]
    staged = stage_all(work, plans)
    cut = staged_cut(work, plans, names, staged, highs(work), {})
    if cut.moves:
        raise StepFailed(
            f"Source {source.name!r}: {cut.moves[0][0]} gets another name with the next run: "
            f"expected it to have gone first; do `lakehouse run --source {source.name}`"
        )
    tables = {plan.identity: plan.silver for plan in plans}
    messages = {message.place: message for message in load_messages(work.batch)}
    judged = judgement(work, tables, staged)
    fates = {place: fate(message, judged) for place, message in messages.items()}
    laws = replay_laws(laws_before(work.context, work.cut), fates)
    listed = [
        [*place, became.value, tables.get(identity, "") if identity else ""]
        for place, became in fates.items()
        for identity in [messages[place].identity]
    ]
    stays = sum(fates.get(place, Fate.OPEN) is Fate.OPEN for place in rows)
    return StepOutcome(
        sentence(rows, fates),
        cast("Mapping[str, Json]", to_json_counts(laws)),
        cast("Mapping[str, Json]", {**cut.to_detail(), "fates": listed}),
        batch_id=work.cut_id,
        exit_code=1 if stays or cut.strayed else 0,
        ends_run=all(became is Fate.OPEN for became in fates.values()),
    )


def _may_replay(work: Applying, plan: TablePlan) -> bool:
    """Whether a table takes part: one that stays behind the cut does not, nor a bag of rows.

    Where equal rows may stand several times, no position tells whether one more was applied.
    """
    behind = excluded_of(work.cut)
    return bool(plan.places and plan.versions and plan.key and not plan.hold) and (
        plan.silver not in behind
    )


def _from_the_start(plan: TablePlan) -> TablePlan:
    """The plan for events from before the table's progress; a run does what else is due."""
    return replace(plan, start=Progress(), renames=())


def judgement(
    work: Applying, tables: Mapping[TableIdentity, str], staged: Mapping[str, Staged]
) -> Judgement:
    """What staging found out of messages that stood in quarantine.

    Raises:
        StepFailed: More of them cannot be applied than the driver may hold.
    """
    source, groups = work.context.source, work.batch.groups
    bad = {(b.topic, b.partition, b.offset) for table in staged.values() for b in table.bad}
    if len(bad) > MAX_QUARANTINED:
        raise StepFailed(
            f"Source {source.name!r}: more than {MAX_QUARANTINED} quarantined messages cannot be "
            "applied: expected fewer; mend the source's settings first"
        )
    named = {group.identity for group in groups if group.identity is not None}
    return Judgement(
        controls={table for table in named if source.is_control_table(table)},
        strays={
            (group.topic, group.identity)
            for group in groups
            if group.identity is not None and is_foreign_topic(group, source)
        },
        staged=tables,
        bad=bad,
        applied={place for table in staged.values() for place in table.replayed},
    )


def laws_before(context: StepContext, cut: CutRow | None) -> dict[TopicPartition, Law]:
    """The law of the run that published the newest cut: what waited then waits still."""
    if cut is None:
        return {}
    row = context.ledger.apply_of(cut)
    return laws_of(json.loads(row.counts)) if row else {}
