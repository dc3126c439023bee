"""What is known before a batch, and what is landed before it.

In: the newest cut. Out: a `Since` value; envelopes of earlier messages, parsed again where a batch
alone cannot tell what one of its messages is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.cuts.published import start_of_batch
from lakehouse.plan.epochs import Epoch, epochs_from_json, unrecorded
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.bronze.slices import read_slice
from lakehouse.spark.once import once
from lakehouse.spark.ordering.same_keys import of_same_keys
from lakehouse.spark.parsing.envelopes import ROWS_OF_WORK, parse
from lakehouse.spark.session import tuned
from lakehouse.spark.sql import any_of, in_partition


@dataclass(frozen=True, slots=True)
class Since:
    """What is known before a batch.

    Attributes:
        progress: What the newest cut has; the lowest offsets of all tables.
        position: Highest position of the newest cut; empty before the first one.
        judged: The newest cut's own offsets: what stands before them is of whole transactions.
        incarnations: Where tables were dropped and created.
        epochs: The logs that the source has had.
    """

    progress: Progress
    position: str = ""
    judged: LandedOffsets = field(default_factory=LandedOffsets)
    incarnations: Incarnations = field(default_factory=Incarnations)
    epochs: tuple[Epoch, ...] = ()

    @property
    def left_behind(self) -> str:
        """Whether the newest cut has judged a message, and left it behind with its table."""
        return any_of(
            f"{in_partition((topic, number))} AND offset < {judged}"
            for topic, entry in self.judged.topics.items()
            for number, judged in entry.next_offsets.items()
            if self.progress.next_offset(topic, number) < judged
        )


def since_cut(
    spark: SparkSession, source: SourceConfig, cut: CutRow | None, incarnations: Incarnations
) -> Since:
    """What is known before the batch that follows a cut, or before the first one.

    Args:
        spark: The session.
        source: Names the logs that a person has confirmed.
        cut: The newest one; None for none.
        incarnations: Where tables were dropped and created.

    Raises:
        StepFailed: A log is confirmed that would begin in what is applied already.
    """
    times = [int(time.timestamp() * 1000) for time in source.new_logs]
    if cut is None:
        epochs = unrecorded((), times)
        return Since(Progress(), incarnations=incarnations, epochs=epochs)
    newest, start = Progress.from_json(cut.offsets), start_of_batch(cut)
    if not CONNECTORS[source.connector].commit_may_be_null:
        # What falls is looked for behind all that was judged; nothing is placed by it.
        start = replace(start, highs=newest.highs, tops=newest.tops)
    judged = newest.offsets
    epochs = epochs_from_json(cut.epochs)
    if new := unrecorded(epochs, times):
        _refuse_in_the_past(spark, source, judged, new[0])
    return Since(start, cut.position, judged, incarnations, (*epochs, *new))


def _refuse_in_the_past(
    spark: SparkSession, source: SourceConfig, applied: LandedOffsets, epoch: Epoch
) -> None:
    """What is applied has its place in the order: another one would bring back older rows."""
    messages = read_slice(spark, source, Progress(), applied)
    row = messages.agg(F.unix_millis(F.max("timestamp")).alias("newest")).first()
    newest = row["newest"] if row else None
    if newest is not None and newest >= epoch.confirmed_ms:
        raise StepFailed(
            f"Source {source.name!r}: new_logs has {_time(epoch.confirmed_ms)}: expected a time "
            f"after {_time(newest)}, that of the newest message that is applied; give a later "
            "time, and read the tables again then with an incremental snapshot"
        )


def _time(milliseconds: int | None) -> str:
    seconds = (milliseconds or 0) / 1000
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def earlier(
    spark: SparkSession, source: SourceConfig, since: Since, topics: Iterable[str] | None = None
) -> DataFrame:
    """The envelopes of what is landed and before a batch; of some topics or of all."""
    messages, names = _before(spark, source, since, topics)
    return _parsed(messages, source, since, names)


def told_earlier(
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    topics: Iterable[str],
    arrived_ms: int,
    wanted: Sequence[str],
) -> DataFrame:
    """What some of the messages before a batch tell, computed once.

    Args:
        spark: The session.
        source: The source.
        since: Where the batch begins.
        topics: Of these.
        arrived_ms: Those with a timestamp in Kafka at or after it, in milliseconds since the epoch:
            files with older ones alone are not read. 0 and less for any.
        wanted: Expressions over envelopes. A condition over them would parse each message again.
    """
    messages, names = _before(spark, source, since, topics)
    if arrived_ms > 0:
        messages = messages.where(f"timestamp >= timestamp_millis({arrived_ms}L)")
    with tuned(spark, ROWS_OF_WORK * messages.count()):
        return once(_parsed(messages, source, since, names).selectExpr(*wanted), eager=True)


def _before(
    spark: SparkSession, source: SourceConfig, since: Since, topics: Iterable[str] | None
) -> tuple[DataFrame, list[str]]:
    """Bronze before a batch, and the topics that occur."""
    landed = since.progress.offsets.topics
    names = sorted(landed if topics is None else landed.keys() & set(topics))
    end = LandedOffsets({name: landed[name] for name in names})
    return read_slice(spark, source, Progress(), end), names


def earlier_of_same_keys(
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    events: DataFrame,
    places: Iterable[TopicPartition],
    most: int,
) -> DataFrame:
    """The envelopes before a batch that have the same keys as events of it.

    Args:
        spark: The session.
        source: The source.
        since: Where the batch begins.
        events: Envelopes of the batch.
        places: The topic partitions that they are in.
        most: How many events there are at most.
    """
    found = sorted(places)
    older = read_slice(spark, source, Progress(), since.progress.offsets).where(
        any_of(map(in_partition, found))
    )
    same = of_same_keys(older, events, most)
    return _parsed(same, source, since, sorted({topic for topic, _ in found}))


def _parsed(
    messages: DataFrame, source: SourceConfig, since: Since, topics: list[str]
) -> DataFrame:
    return parse(messages, source, CONNECTORS[source.connector], topics, since.epochs)
