"""Backfill: the rows that an interval's messages touch, made again from bronze and compared.

In: bronze up to the newest cut, today's code and TOML file. Out: a staged cut with the rows that
differ, which `validate` judges and `publish` puts in their place; nothing, where none does. Each
row is made from all its messages, whenever they were sent: what is older than the interval made it
too, and what is newer stays in it. All of it under the lease, so that no other run comes between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import cast

from lakehouse.config import SourceConfig, TopicRole, topic_role
from lakehouse.names import parse_table, topic_of
from lakehouse.plan.batches.conservation import to_json_counts
from lakehouse.plan.remaking.backfilling import (
    Backfill,
    Contents,
    derived_again,
    gaps,
    nothing_there,
    refuse_lost,
)
from lakehouse.plan.remaking.replay import replay_laws
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.staging.interval import contents
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.quarantine import quarantine
from lakehouse.steps.remaking.narrowing import Narrowed, heal_all, healed, narrow, put_away
from lakehouse.steps.remaking.reapply import laws_before
from lakehouse.steps.remaking.replacement import became, fates_of, replacing_cut
from lakehouse.steps.turn import Turn, in_turn, needed


def backfill(context: StepContext, asked: Backfill) -> StepOutcome:
    """Make the rows of an interval again, and stage those that differ.

    Raises:
        StepFailed: Messages of the interval are gone, bronze cannot give its tables, or a table
            that was named cannot be made again.
        Superseded: Another run held the lease all the time.
    """
    found = _contents(context, asked)
    refuse_lost(context.source.name, asked.interval, found)
    if not found.messages:
        sentence = nothing_there(asked.interval, found)
        return StepOutcome(sentence, detail=_detail(asked, {}), ends_run=True)

    def work(turn: Turn) -> StepOutcome:
        cut = needed(context.source.name, turn.cut)
        made = narrow(context, asked, cut, (turn.token, turn.check))
        try:
            return _staged(context, asked, made)
        finally:
            put_away(context, made)

    return in_turn(context, work, between_steps=True)


def _contents(context: StepContext, asked: Backfill) -> Contents:
    """What bronze has of the interval, and what of it was never landed."""
    source, bronze = context.source, Bronze(context.source.name, context.ledger)
    topics = _topics(source, bronze.landed(context.spark).topics)
    missing = gaps(context.ledger.runs(source.name), topics)
    return contents(bronze.messages(context.spark), asked.interval, topics, missing)


def _topics(source: SourceConfig, landed: Iterable[str]) -> list[str]:
    """The topics with changes of tables that become silver."""
    kind = source.connector
    tables = (parse_table(text, kind) for text in source.control_tables)
    control = {topic_of(table, source.topic_prefix, kind) for table in tables}
    data = (name for name in landed if topic_role(source, name) is TopicRole.DATA)
    return sorted(set(data) - control)


def _staged(context: StepContext, asked: Backfill, made: Narrowed) -> StepOutcome:
    found = heal_all(made)
    built, cut = made.built, made.built.cut
    told = [found[name][1] for table in built.tables.values() for name in table.own_tables]
    sentence, numbers = derived_again(cut.cut_id, told, built.left)
    tables = {
        name: healed(context, table, made.branch, cut)
        for name, table in built.tables.items()
        if any(found[each][1].count for each in table.own_tables)
    }
    if tables:
        part = built.parts[0]
        quarantine(part.work.context, part.work.batch, part.staged, part.plans)
    fates = fates_of(context, made.of_interval, cut) if tables else []
    laws = to_json_counts(replay_laws(laws_before(context, cut), became(fates)))
    staged = replacing_cut(replace(built, branch=made.branch), cut, made.token, tables, found)
    detail = {
        **(staged.to_detail() if tables else {}),
        **_detail(asked, numbers),
        "differences": [asdict(each) for each in told],
        "left": dict(built.left),
        "fates": fates,
    }
    return StepOutcome(
        sentence,
        cast("Mapping[str, Json]", {**numbers, **laws}),
        cast("Mapping[str, Json]", detail),
        batch_id=staged.cut_id if tables else "",
        exit_code=1 if built.left else 0,
        ends_run=not tables,
    )


def _detail(asked: Backfill, numbers: Mapping[str, int]) -> dict[str, Json]:
    start, end = asked.interval.start, asked.interval.end
    told: dict[str, Json] = {"from": start.isoformat(), "until": end.isoformat()}
    return {"backfill": {**told, "tables": list(asked.tables), **numbers}}
