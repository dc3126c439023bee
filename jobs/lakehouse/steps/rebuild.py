"""Rebuild: silver tables again from bronze, compared with the running ones, and put in their place.

In: bronze up to the newest cut. Out: a staged cut of the tables that differ, which `validate`
judges and `publish` puts in the place of `main` in one commit for each table. The tables are built
while runs go on; under the lease they catch up with what was published meanwhile. A table that is
equal stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import cast

from lakehouse.errors import StepFailed, Superseded
from lakehouse.plan.conservation import to_json_counts
from lakehouse.plan.handover import StagedCut, StagedTable, excluded_of, identities_of
from lakehouse.plan.rebuilding import Difference, Rebuild, choose
from lakehouse.plan.records import CutRow
from lakehouse.plan.replay import Fate, fate, replay_laws
from lakehouse.plan.tables import ENDINGS, MAIN, Place
from lakehouse.spark import metadata, tables
from lakehouse.spark.comparing import compare
from lakehouse.spark.leases import Leases
from lakehouse.spark.replay import at_places, load_messages
from lakehouse.spark.session import tune
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.forwarding import roll_forward
from lakehouse.steps.quarantine import quarantine
from lakehouse.steps.reapply import judgement, laws_before, open_messages
from lakehouse.steps.rebuilding import Built, Part, branch_of, build, catch_up
from lakehouse.steps.undoing import reopen, take_back

# Runs of a source are short: the lease is free soon.
_PATIENCE_S, _POLL_S = 900, 2
_WORKERS = 4


def rebuild(context: StepContext, asked: Rebuild) -> StepOutcome:
    """Build tables again, and stage those that differ.

    Raises:
        StepFailed: Bronze cannot give the tables, or they changed in a way that is not caught up.
        Superseded: Other runs held the lease all the time.
    """
    name = context.source.name
    cut = context.ledger.newest_cut(name)
    if cut is None:
        raise StepFailed(
            f"Source {name!r}: no cut is published: expected one to build tables to; "
            f"do `lakehouse run --source {name}` first"
        )
    choice = choose(cut, asked, context.source.connector)
    leases, taken = Leases(context.ledger.catalog, name), 0
    try:
        made = take_back(context, choice) if asked.undo else build(context, asked, cut, choice)
        taken = _take(leases, context.run_id)
        with leases.held(taken, context.run_id, lone_step=context.lone_step) as check:
            roll_forward(context, check)
            outcome = _staged(context, made, taken, check)
            if asked.undo and not outcome.ends_run:
                reopen(context, made.cut)
    except Exception:
        _drop_branches(context, choice.tables)
        raise
    if outcome.ends_run:
        leases.give_back(taken, context.run_id)
    return outcome


def _take(leases: Leases, run_id: str) -> int:
    """The lease, once no other run has it.

    Raises:
        Superseded: Other runs had it all the time.
    """
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return leases.take(run_id)
        except Superseded:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_S)


def _staged(
    context: StepContext, built: Built, token: int, check: Callable[[], None]
) -> StepOutcome:
    newest = context.ledger.newest_cut(context.source.name) or built.cut
    built = catch_up(context, built, newest, token, check)
    found = _compared(context, built)
    differing = {
        name: table
        for name, table in built.tables.items()
        if any(found[each][1].count for each in table.snapshots)
    }
    _drop_branches(context, built.tables.keys() - differing.keys())
    told = [found[each][1] for table in built.tables.values() for each in table.snapshots]
    detail: dict[str, Json] = {
        "rebuild": [cast("Json", asdict(each)) for each in told],
        "left": dict(built.left),
    }
    exit_code = 1 if built.left else 0
    sentence = _sentence(built, newest, differing, told)
    if not differing:
        return StepOutcome(sentence, detail=detail, exit_code=exit_code, ends_run=True)
    for part in built.parts:
        quarantine(part.work.context, part.work.batch, part.staged, part.plans)
    fates = _fates(context, built, newest)
    cut = _cut(built, newest, token, differing, found)
    counts = to_json_counts(replay_laws(laws_before(context, newest), _became(fates)))
    return StepOutcome(
        sentence,
        cast("Mapping[str, Json]", counts),
        cast("Mapping[str, Json]", {**cut.to_detail(), **detail, "fates": fates}),
        batch_id=cut.cut_id,
        exit_code=exit_code,
    )


def _compared(context: StepContext, built: Built) -> dict[str, tuple[int | None, Difference]]:
    """Iceberg table → the head of `main`, and how it differs from what is built."""
    catalog = context.ledger.catalog
    pairs = [(table, name) for table in built.tables.values() for name in table.snapshots]

    def one(pair: tuple[StagedTable, str]) -> tuple[int | None, Difference]:
        table, name = pair
        session = context.spark.newSession()
        head = metadata.head(catalog, name)
        there = metadata.row_count(catalog, name, head.snapshot_id) if head else None
        tune(session, 2 * max(table.rows, there or 0))
        before, after = (tables.at_ref(session, name, ref) for ref in (MAIN, built.branch))
        key = table.key if name == table.silver else ()
        return head.snapshot_id if head else None, compare(name, before, after, key)

    with ThreadPoolExecutor(_WORKERS) as pool:
        return {name: each for (_, name), each in zip(pairs, pool.map(one, pairs), strict=True)}


def _cut(
    built: Built,
    newest: CutRow,
    token: int,
    differing: Mapping[str, StagedTable],
    found: Mapping[str, tuple[int | None, Difference]],
) -> StagedCut:
    """The newest cut with the tables that differ in the place of the running ones."""
    heads = {
        name: (found[name][0], snapshot)
        for table in differing.values()
        for name, snapshot in table.snapshots.items()
    }
    return StagedCut(
        branch=built.branch,
        token=token,
        cut_id=f"{token:08d}",
        base_cut=newest.cut_id,
        offsets=newest.offsets,
        position=newest.position,
        transactions=0,
        tables=tuple(
            # Validation judges all rows: of a table that is made again every one is new.
            replace(table, changed=True, upserts=found[name][1].after)
            for name, table in sorted(differing.items())
        ),
        excluded=excluded_of(newest),
        findings=_findings(built, found),
        identities=identities_of(newest),
        epochs=newest.epochs,
        replaced={
            name: head
            for name, (head, snapshot) in sorted(heads.items())
            if head is not None and head != snapshot
        },
    )


def _findings(built: Built, found: Mapping[str, tuple[int | None, Difference]]) -> tuple[str, ...]:
    notes = [f"{p.silver}: {n}" for part in built.parts for p in part.plans for n in p.notes]
    left = [f"{name} stays as it is: {reason}" for name, reason in sorted(built.left.items())]
    differences = [each.sentence for _, each in found.values() if each.count]
    return (*differences, *left, *dict.fromkeys(notes))


def _fates(context: StepContext, built: Built, newest: CutRow) -> list[Json]:
    """What became of messages that stood in quarantine: place, fate and silver table of each."""
    open_ = sorted(open_messages(context, newest))
    return [each for part in built.parts for each in _fates_of(part, open_)] if open_ else []


def _fates_of(part: Part, open_: list[Place]) -> list[Json]:
    batch = part.work.batch
    there = [place for place in open_ if place[0] in batch.landed.topics]
    mine = replace(batch, envelopes=batch.envelopes.where(at_places(there, batch.landed)))
    silver = {plan.identity: plan.silver for plan in part.plans}
    judged = judgement(part.work, silver, part.staged)
    return [
        [*message.place, fate(message, judged).value, silver.get(message.identity, "")]
        for message in load_messages(mine)
        if message.identity is not None
    ]


def _became(fates: list[Json]) -> dict[Place, Fate]:
    found = cast("list[tuple[str, int, int, str, str]]", fates)
    return {(topic, number, at): Fate(became) for topic, number, at, became, _ in found}


def _sentence(
    built: Built, newest: CutRow, differing: Mapping[str, StagedTable], told: list[Difference]
) -> str:
    what = f"{len(built.tables)} tables built again up to cut {newest.cut_id}"
    equal = len(built.tables) - len(differing)
    parts = [f"{len(differing)} differ, {equal} are equal and stay as they are"]
    parts += [each.sentence for each in told if each.count]
    parts += [f"{name} stays as it is: {reason}" for name, reason in sorted(built.left.items())]
    return f"{what}: {'; '.join(parts)}"


def _drop_branches(context: StepContext, silver: Iterable[str]) -> None:
    """What is not published is not kept."""
    branch, catalog = branch_of(context), context.ledger.catalog
    for name in (table + ending for table in silver for ending in ENDINGS):
        if branch in metadata.refs(catalog, name):
            tables.drop_branch(context.spark, name, branch)
