"""Step `land`: messages of Kafka topics, or of a topic archive, into bronze, exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from lakehouse.config import kafka_properties, select_topics
from lakehouse.errors import KafkaUnreachable
from lakehouse.plan.topics.archive import listed_files, plan_archive
from lakehouse.plan.topics.kafka_faults import kafka_exceptions, kafka_fault
from lakehouse.plan.topics.landing import LandingPlan, gone_topics, landing_topics, plan_landing
from lakehouse.plan.topics.lost_ranges import refuse_lost, refuse_other_topics
from lakehouse.plan.topics.offsets import LandedOffsets, landing_tasks, messages_per_task
from lakehouse.quality.engine import preload
from lakehouse.spark.bronze.landed_counts import PartitionCount
from lakehouse.spark.bronze.ranges import within
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.landing.archive import Archive, open_archive, refuse_differences
from lakehouse.spark.landing.kafka import (
    read_messages,
    read_topic_configs,
    read_topic_ids,
    read_topics,
)
from lakehouse.spark.landing.land import Landed, Landing, land
from lakehouse.spark.session import tune
from lakehouse.steps.context import Json, StepContext, StepOutcome

# Hardly any line of an archive is compressed to less.
_LEAST_BYTES = 16


def run(context: StepContext) -> StepOutcome:
    """Land what is new.

    Raises:
        LandingRefused: If landing would lose, repeat or mix up messages.
        ArchiveError: If a line of the archive is broken.
        KafkaUnreachable: If no broker answers.
    """
    if context.archive is not None:
        return _land_archive(context, context.archive)
    return _land_kafka(context)


def _land_kafka(context: StepContext) -> StepOutcome:
    source, bronze = context.source, Bronze(context.source.name, context.ledger)
    properties = kafka_properties(source, context.settings)
    topics = read_topics(source, properties, context.until)

    def plan(landed: LandedOffsets) -> LandingPlan:
        return plan_landing(
            landed,
            topics.bounds,
            gone=gone_topics(source, landed, topics.existing),
            accept_loss=source.accept_loss,
        )

    def read(planned: LandingPlan) -> DataFrame:
        _prepare(context)
        return read_messages(context.spark, properties, planned.ranges)

    landing = Landing(
        plan=plan,
        read=read,
        run_id=context.run_id,
        attempt=context.attempt,
        check=lambda planned, _: refuse_other_topics(
            planned, read_topic_ids(properties, sorted({each.topic for each in planned.ranges}))
        ),
        explain=partial(_explain, context, properties),
    )
    landed = land(context.spark, bronze, landing)
    outcome = landing_outcome(context, landed, len(topics.bounds), ())
    return replace(outcome, detail={**outcome.detail, **_history_settings(context, properties)})


def _prepare(context: StepContext) -> None:
    """Have ready what the steps behind a landing with news need, where they are this process's."""
    if not context.lone_step:
        preload()


def _explain(
    context: StepContext, properties: Mapping[str, str], plan: LandingPlan, failure: Exception
) -> None:
    """Raise what kept Spark from reading the planned messages, where it was Kafka."""
    told = kafka_exceptions(str(failure))
    if told:
        now = read_topics(context.source, properties, context.until)
        refuse_lost(plan, now.bounds, now.existing)
        topics = ", ".join(sorted({each.topic for each in plan.ranges}))
        sentence = kafka_fault(properties, told, f"its topics, of which {topics} were to be read")
        raise KafkaUnreachable(f"{sentence}; nothing was landed, run it again") from failure


def _history_settings(context: StepContext, properties: Mapping[str, str]) -> dict[str, Json]:
    """How Kafka keeps the connector's schema history, for `check` to judge."""
    topic = context.source.kafka.schema_history
    if topic is None:
        return {}
    config = read_topic_configs(properties, [topic])[topic]
    names = ("cleanup.policy", "retention.ms", "retention.bytes")
    return {"schema_history": {name: config[name] for name in names}}


def _land_archive(context: StepContext, folder: Path) -> StepOutcome:
    source, bronze = context.source, Bronze(context.source.name, context.ledger)
    files = listed_files(folder)
    topics = landing_topics(source, [file.topic for file in files])
    chosen = [file for file in files if file.topic in topics]
    size = sum(file.path.stat().st_size for file in chosen)
    tune(context.spark, size // _LEAST_BYTES)
    workspace = context.settings.home / "tmp"
    workspace.mkdir(parents=True, exist_ok=True)
    with open_archive(context.spark, chosen, workspace, context.until) as archive:
        landed = land(context.spark, bronze, archive_landing(context, bronze, archive))
    ignored = select_topics(source, [file.topic for file in files]).ignored
    return landing_outcome(context, landed, len(chosen), ignored)


def archive_landing(context: StepContext, bronze: Bronze, archive: Archive) -> Landing:
    """How the messages of an open archive are landed."""
    name, spark = context.source.name, context.spark

    def read(plan: LandingPlan) -> DataFrame:
        _prepare(context)
        per_task = messages_per_task(plan.ranges, spark.sparkContext.defaultParallelism)
        tasks = landing_tasks(plan.ranges, per_task)
        rows = within(archive.messages, plan.ranges).coalesce(tasks)
        return rows.sortWithinPartitions("topic", "partition", "offset")

    def confirm(ref: str, landed: LandedOffsets) -> None:
        known = plan_archive(name, landed, archive.contents).landed
        refuse_differences(archive, bronze.messages(spark, ref), known)

    def check(plan: LandingPlan, counts: Iterable[PartitionCount]) -> None:
        archive.refuse_missing(plan, counts)

    return Landing(
        plan=lambda landed: plan_archive(name, landed, archive.contents).landing,
        read=read,
        run_id=context.run_id,
        attempt=context.attempt,
        confirm=confirm,
        check=check,
    )


def landing_outcome(
    context: StepContext, landed: Landed, topics: int, ignored: tuple[str, ...]
) -> StepOutcome:
    """How a landing ended, with what the next steps need of it.

    Args:
        context: The run.
        landed: What is in bronze now.
        topics: How many topics were looked at.
        ignored: Topics that are not the source's.
    """
    messages = sum(count.messages for count in landed.counts)
    by_topic: dict[str, dict[str, Json]] = {}
    for count in landed.counts:
        by_topic.setdefault(count.topic, {})[str(count.partition)] = count.messages
    detail: dict[str, Json] = {
        "offsets": {
            topic: {
                "id": progress.topic_id,
                "partitions": {str(n): next_ for n, next_ in progress.next_offsets.items()},
            }
            for topic, progress in landed.plan.landed.topics.items()
        },
        "snapshot_id": landed.snapshot_id,
        "newest_ms": max(
            (c.newest_ms for c in landed.counts if c.newest_ms is not None), default=None
        ),
        "starts": [[each.topic, each.partition, each.start] for each in landed.plan.ranges],
        "until": context.until.isoformat() if context.until else None,
        "archive": str(context.archive) if context.archive else None,
        "not_landed_topics": list(ignored),
        "accepted": [loss.sentence for loss in landed.plan.accepted],
        "accepted_topics": [loss.topic for loss in landed.plan.accepted],
    }
    return StepOutcome(
        message=_sentence(messages, len(by_topic), topics, ignored),
        counts={"messages": messages, "topics": by_topic},
        detail=detail,
        batch_id=landed.plan.batch_id,
    )


def _sentence(messages: int, changed: int, topics: int, ignored: tuple[str, ...]) -> str:
    news = f"landed {messages} new messages of {changed} topics" if messages else "nothing new"
    rest = f"; not this source's: {', '.join(ignored)}" if ignored else ""
    return f"{news} ({topics} topics looked at){rest}"
