"""Stages one table's batch on a branch: what its events amount to, and how many of each kind.

In: a table's plan and the batch's envelopes. Out: a `Staged` value with the branch's snapshots and
the counts of the batch. `main` is not touched; a branch that a killed attempt left is never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from lakehouse.names import quote_ident
from lakehouse.plan.batches.conservation import summed
from lakehouse.plan.batches.tables import MAIN, Place, TopicPartition
from lakehouse.spark import metadata, tables
from lakehouse.spark.decoding import events
from lakehouse.spark.decoding.truncates import Truncate, load_truncates
from lakehouse.spark.session import in_tasks, tune
from lakehouse.spark.staging import collapse, silver, tally
from lakehouse.spark.staging.folding import fold
from lakehouse.spark.staging.history import prepare as prepare_history
from lakehouse.spark.staging.history import stage_history
from lakehouse.spark.staging.holds import Holds
from lakehouse.spark.staging.looking_up import judge
from lakehouse.spark.staging.properties import remember_soft
from lakehouse.spark.staging.small_change import with_heads
from lakehouse.spark.staging.state import write_state
from lakehouse.spark.staging.sweeps import sweep
from lakehouse.spark.staging.tally import BadEvent
from lakehouse.spark.staging.touched import only_touched
from lakehouse.spark.staging.writing import Work, write_silver

# What a snapshot tells the next batch: the rows of the table, the newest truncate of its state.
ROWS_PROPERTY, BARRIER_PROPERTY = "lakehouse.rows", "lakehouse.barrier"


@dataclass(frozen=True, slots=True)
class Staged:
    """What a batch did to one table.

    Attributes:
        changed: Whether the branch differs from `main`.
        snapshot: Head of the silver branch, or of `main` where nothing changed.
        state_snapshot: The same for the state table; None while it has no snapshot.
        history_snapshot: The same for the table of versions; None where there is none.
        rows: Live rows in the table afterwards.
        seen: Topic partition → events that staging looked at.
        superseded: Topic partition → events that were older than what is stored.
        outdated: Topic partition → those of them that stand behind what is newer.
        quarantined: Topic partition → events that cannot be applied.
        unresolved: Columns whose unchanged value was nowhere to be found → rows.
        bad: The quarantined events.
        held: Keys that wait for a quarantined event.
        replayed: In a replay, where the events stand that are applied.
        swept: What a person should know of rows that a source snapshot did not read.
        recreated: Rows that were created, and were there.
        unknown: Rows that changed, and never came.
    """

    changed: bool
    snapshot: int | None
    state_snapshot: int | None
    rows: int
    upserts: int = 0
    deletes: int = 0
    seen: Mapping[TopicPartition, int] = field(default_factory=dict)
    superseded: Mapping[TopicPartition, int] = field(default_factory=dict)
    outdated: Mapping[TopicPartition, int] = field(default_factory=dict)
    quarantined: Mapping[TopicPartition, int] = field(default_factory=dict)
    unresolved: Mapping[str, int] = field(default_factory=dict)
    bad: tuple[BadEvent, ...] = ()
    history_snapshot: int | None = None
    held: int = 0
    replayed: tuple[Place, ...] = ()
    swept: str = ""
    recreated: int = 0
    unknown: int = 0


def stage_table(work: Work, envelopes: DataFrame) -> Staged:
    """Stage the batch of one table.

    Args:
        work: A session of this table's own, the plan, the branch and the commits' properties.
        envelopes: The batch, with positions, up to where it may be applied.

    Raises:
        Superseded: Another run took the lease.
    """
    plan = work.plan
    work = with_heads(work)
    before = _rows_before(work)
    tune(work.spark, before + work.messages)
    silver.prepare(work.spark, plan)
    if plan.becomes_soft:
        remember_soft(work.spark, plan.silver)
    if plan.history:
        prepare_history(work)
    state = metadata.head(work.catalog, plan.state, plan.base) if plan.exists else None
    barrier = _barrier_before(work, state)
    truncates = load_truncates(envelopes, plan, barrier)
    swept = sweep(work, _rows(work, envelopes))
    # A large value may come from a row of another key, which is then looked for in all rows.
    rows = swept.rows if plan.placeholders else only_touched(work, swept.rows)
    judged = judge(work, rows, barrier, before=before, has_state=state is not None)
    if not truncates:
        work = replace(work, summary={**work.summary, BARRIER_PROPERTY: barrier})
    return replace(_stage(work, judged, truncates, before), swept=swept.finding)


def _stage(work: Work, judged: DataFrame, truncates: Sequence[Truncate], before: int) -> Staged:
    plan = work.plan
    truncate = truncates[-1].position if truncates else ""
    holds, folded = fold(work, judged, truncates)
    numbers = folded.numbers
    if plan.history:
        tune(work.spark, before + work.messages)
    is_history_changed = plan.history and stage_history(work, folded.resolved, truncates)
    is_row_changed = numbers["keys"] or truncate or (plan.schema.add and before)
    if not is_row_changed and not holds.changed:
        if is_history_changed:
            # Late versions alone: the cut has the same rows, and validation looks at the branch.
            work.begin(plan.silver)
        return _result(work, holds, before, changed=is_history_changed)
    work.check()
    if not truncate:
        rows = str(_rows_after(work, numbers, before, truncate))
        work = replace(work, summary={**work.summary, ROWS_PROPERTY: rows})
    # Elsewhere older events come behind newer ones.
    is_new = plan.base == MAIN and not (work.replay or work.touched)
    small = folded.fetched.change(work) if folded.fetched else None
    marked = 0
    if not (small and small.write_rows()):
        # Whole tables are read.
        tune(work.spark, before + work.messages)
        marked = write_silver(work, folded.winners, numbers, truncates)
    if not (small and small.write_marks()):
        write_state(work, folded.winners, numbers, truncates, holds)
    return replace(
        _result(work, holds, _rows_after(work, numbers, before, truncate), changed=True),
        upserts=numbers["upserts"] + marked,
        deletes=numbers["deletes"],
        recreated=numbers["recreated"] if is_new else 0,
        unknown=numbers["unknown"] if is_new else 0,
        unresolved=tally.unresolved(folded.winners) if plan.placeholders else {},
    )


def _rows(work: Work, envelopes: DataFrame) -> DataFrame:
    mine = in_tasks(envelopes, work.messages)
    rows = events.table_rows(mine, work.plan, work.secret)
    return collapse.whole_events(rows) if work.plan.halves else rows


def _rows_before(work: Work) -> int:
    if not work.plan.exists:
        return 0
    head = metadata.head(work.catalog, work.plan.silver, work.plan.base)
    if head is not None and ROWS_PROPERTY in head.summary:
        return int(head.summary[ROWS_PROPERTY])
    return 0 if head is None else _live_rows(work, work.plan.base)


def _barrier_before(work: Work, state: metadata.SnapshotInfo | None) -> str:
    """Position of the newest truncate that silver has applied; empty for none."""
    if state is None:
        return ""
    known = state.summary.get(BARRIER_PROPERTY)
    return silver.newest_barrier(work.spark, work.plan) if known is None else known


def _result(work: Work, holds: Holds, rows: int, *, changed: bool) -> Staged:
    """What the table has afterwards; counts of written rows are added by the caller."""
    verdicts = holds.verdicts
    heads = metadata.refs(work.catalog, work.plan.silver)
    states = metadata.refs(work.catalog, work.plan.state)
    versions = metadata.refs(work.catalog, work.plan.history_table) if work.plan.history else {}
    return Staged(
        changed=changed,
        snapshot=heads.get(work.branch, heads.get(MAIN)),
        state_snapshot=states.get(work.branch, states.get(MAIN)),
        history_snapshot=versions.get(work.branch, versions.get(MAIN)),
        rows=rows,
        seen=summed(verdicts.values()),
        superseded=summed(verdicts.get(v, {}) for v in (collapse.SUPERSEDED, collapse.OUTDATED)),
        outdated={} if work.replay else verdicts.get(collapse.OUTDATED, {}),
        quarantined=verdicts.get(collapse.QUARANTINED, {}),
        bad=tally.bad_events(holds.events) if collapse.QUARANTINED in verdicts else (),
        held=holds.keys,
        replayed=tally.new_places(holds.events) if work.replay else (),
    )


def _rows_after(work: Work, numbers: Mapping[str, int], before: int, truncate: str) -> int:
    if truncate:
        return _live_rows(work, work.branch)
    return before + numbers["inserts"] - numbers["deletes"]


def _live_rows(work: Work, ref: str) -> int:
    """Rows that are not marked as deleted, counted."""
    rows = tables.at_ref(work.spark, work.plan.silver, ref)
    cdc = quote_ident(silver.cdc_name(work.plan.columns))
    return rows.where(silver.is_live(cdc)).count()
