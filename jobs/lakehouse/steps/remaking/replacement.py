"""What a rebuild and a backfill share: tables made again take the place of the running ones.

In: what was made and how it differs. Out: the staged cut, what becomes of messages that stood in
quarantine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from lakehouse.plan.batches.tables import ENDINGS, Place
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.same_offsets import cut_upon
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.differences import Difference
from lakehouse.plan.remaking.replay import Fate, fate
from lakehouse.spark import branches, metadata
from lakehouse.spark.batches.replay import at_places, load_messages
from lakehouse.steps.context import Json, StepContext
from lakehouse.steps.remaking.reapply import judgement, open_messages
from lakehouse.steps.remaking.remaking import Built, Part, branch_of


def replacing_cut(
    built: Built,
    newest: CutRow,
    token: int,
    differing: Mapping[str, StagedTable],
    found: Mapping[str, tuple[int | None, Difference]],
) -> StagedCut:
    """The newest cut with tables that were made again in the place of the running ones.

    Args:
        built: What was made.
        newest: The newest cut.
        token: Fencing token under which it is staged.
        differing: Silver table → what takes its place.
        found: Iceberg table → the head of `main`, and how it differs from what was made.
    """
    tables = [replace(table, changed=True) for _, table in sorted(differing.items())]
    heads = {
        name: (found[name][0], snapshot)
        for table in differing.values()
        for name, snapshot in table.snapshots.items()
    }
    staged = cut_upon(newest, built.branch, token, tables, _findings(built, found))
    return replace(
        staged,
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


def fates_of(context: StepContext, built: Built, newest: CutRow) -> list[Json]:
    """What became of messages that stood in quarantine: place, fate and silver table of each."""
    open_ = sorted(open_messages(context, newest))
    return [each for part in built.parts for each in _of_part(part, open_)] if open_ else []


def _of_part(part: Part, open_: list[Place]) -> list[Json]:
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


def became(fates: Sequence[Json]) -> dict[Place, Fate]:
    """What became of each message, of what `fates_of` gave."""
    found = cast("list[tuple[str, int, int, str, str]]", fates)
    return {(topic, number, at): Fate(each) for topic, number, at, each, _ in found}


def drop_branches(context: StepContext, silver: Iterable[str]) -> None:
    """What is not published is not kept."""
    branch, catalog = branch_of(context), context.ledger.catalog
    for name in (table + ending for table in silver for ending in ENDINGS):
        if branch in metadata.refs(catalog, name):
            branches.drop_branch(context.spark, name, branch)
