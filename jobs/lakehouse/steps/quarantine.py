"""Quarantine: coordinates and reasons of messages that cannot be applied; never their payload.

In: a batch and what staging could not decode. Out: rows in `quality.quarantine`, each message
once, and the counts of messages that stand in a topic that is not their table's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import pyspark.sql.functions as F
from pyspark.sql import Row

from lakehouse.errors import StepFailed
from lakehouse.names import TableIdentity, format_table
from lakehouse.plan.batches.batch import is_foreign_topic
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.reasons import MEANINGS
from lakehouse.plan.batches.tables import TablePlan, TopicPartition
from lakehouse.plan.records import QUARANTINE, QuarantineRow
from lakehouse.spark.batches.batch import Batch
from lakehouse.spark.decoding.events import belongs_to
from lakehouse.spark.parsing.reasons import IDENTITY
from lakehouse.spark.sql import all_of, in_partition
from lakehouse.spark.staging.stage import Staged
from lakehouse.spark.staging.tally import MAX_QUARANTINED, BadEvent
from lakehouse.steps.context import StepContext

WRONG_TOPIC = "wrong_topic"
Place = tuple[str, int, int]


def quarantine(
    context: StepContext, batch: Batch, staged: Mapping[str, Staged], plans: Sequence[TablePlan]
) -> dict[TopicPartition, int]:
    """Record what cannot be applied, each with its source table as the TOML file names it.

    Args:
        context: The run.
        batch: What is open.
        staged: Silver table → what the batch did to it.
        plans: Those of the batch's tables.

    Returns:
        Messages by topic partition whose table stands in a foreign topic.

    Raises:
        StepFailed: There are more than one run may record; nothing was recorded.
    """
    foreign = [g for g in batch.groups if is_foreign_topic(g, context.source)]
    connector = context.source.connector
    tables = {plan.silver: format_table(plan.identity, connector) for plan in plans}
    found = {
        **_unreadable(batch, connector),
        **_strays(batch, foreign, connector),
        **{
            (bad.topic, bad.partition, bad.offset): (tables[name], bad.reason, _detail(bad))
            for name, table in staged.items()
            for bad in table.bad
        },
    }
    if len(found) > MAX_QUARANTINED:
        raise StepFailed(
            f"More than {MAX_QUARANTINED} messages cannot be applied: expected a few; look at "
            f"{next(iter(found))} ({next(iter(found.values()))[1]}), mend the source's settings"
        )
    _append(context, batch, found)
    counts: Counter[TopicPartition] = Counter()
    for group in foreign:
        counts[(group.topic, group.partition)] += group.count
    return dict(counts)


def _detail(bad: BadEvent) -> str:
    return f"columns {bad.columns}" if bad.columns else ""


def _unreadable(batch: Batch, connector: str) -> dict[Place, tuple[str, str, str]]:
    if not any(group.reason and not group.control for group in batch.groups):
        return {}
    rows = (
        batch.envelopes.where(F.col("reason").isNotNull() & ~F.col("control"))
        .select("topic", "partition", "offset", "reason", *IDENTITY)
        .limit(MAX_QUARANTINED + 1)
        .collect()
    )
    return {
        (r["topic"], r["partition"], r["offset"]): (_table(r, connector), r["reason"], "")
        for r in rows
    }


def _table(row: Row, connector: str) -> str:
    """The table that a message names; empty where it names none."""
    if not row["table_name"]:
        return ""
    return format_table(TableIdentity(*(row[name] for name in IDENTITY)), connector)


def _strays(
    batch: Batch, foreign: list[Group], connector: str
) -> dict[Place, tuple[str, str, str]]:
    found: dict[Place, tuple[str, str, str]] = {}
    for group in foreign:
        if group.identity is None:
            continue
        rows = (
            batch.envelopes.where(
                all_of((belongs_to(group.identity), in_partition((group.topic, group.partition))))
            )
            .select("offset")
            .limit(MAX_QUARANTINED + 1)
            .collect()
        )
        for row in rows:
            place = (group.topic, group.partition, row["offset"])
            found[place] = (format_table(group.identity, connector), WRONG_TOPIC, "")
    return found


def _append(
    context: StepContext, batch: Batch, found: Mapping[Place, tuple[str, str, str]]
) -> None:
    if not found:
        return
    topics = batch.landed.topics
    known = {
        (row.topic, row.partition, row.offset)
        for row in context.ledger.quarantine(context.source.name)
        # A topic that was made again has other messages at the same offsets.
        if row.topic in topics and row.topic_id == topics[row.topic].topic_id
    }
    fresh = {place: entry for place, entry in found.items() if place not in known}
    context.ledger.append(QUARANTINE, list(_rows(context, batch, fresh)))


def _rows(
    context: StepContext, batch: Batch, fresh: Mapping[Place, tuple[str, str, str]]
) -> Iterator[QuarantineRow]:
    now = datetime.now(UTC)
    for (topic, partition, offset), (table, reason, detail) in sorted(fresh.items()):
        yield QuarantineRow(
            source=context.source.name,
            topic=topic,
            topic_id=batch.landed.topics[topic].topic_id,
            partition=partition,
            offset=offset,
            table=table,
            reason=reason,
            detail=detail or MEANINGS.get(reason, ""),
            state="open",
            run_id=context.run_id,
            recorded_at=now,
        )
