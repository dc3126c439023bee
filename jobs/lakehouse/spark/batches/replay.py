"""A batch of quarantined messages: single coordinates of bronze instead of offset ranges.

In: coordinates of messages that runs have left behind. Out: a `Batch` as `open_batch` gives one,
with the positions and the redeliveries that an ordinary batch would have found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import Connector
from lakehouse.names import TableIdentity, bronze_table
from lakehouse.plan.batches.tables import Place, TopicPartition
from lakehouse.plan.progress import Progress
from lakehouse.plan.remaking.replay import Message
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.batches.batch import Batch, whole_batch
from lakehouse.spark.batches.incarnations import with_incarnations
from lakehouse.spark.batches.profile import profile
from lakehouse.spark.once import once
from lakehouse.spark.ordering.redelivery import mark, suspect
from lakehouse.spark.ordering.since import Since, earlier, earlier_of_same_keys
from lakehouse.spark.ordering.stand_ins import place
from lakehouse.spark.parsing.envelopes import parse
from lakehouse.spark.session import tune
from lakehouse.spark.sql import any_of, in_partition, literal
from lakehouse.spark.tables import full_name

_COORDINATES = ("topic", "partition", "offset")


def open_replay(
    spark: SparkSession,
    source: SourceConfig,
    connector: Connector,
    since: Since,
    taken: Sequence[Place],
) -> Batch:
    """Parse quarantined messages again.

    Args:
        spark: The session.
        source: The source as its TOML file is today.
        connector: Its position fields.
        since: The newest cut; it stays as far as it is.
        taken: Where the messages stand; at least one.
    """
    tune(spark, len(taken))
    landed = since.progress.offsets
    messages = spark.table(full_name(bronze_table(source.name))).where(at_places(taken, landed))
    topics = sorted({topic for topic, _, _ in taken})
    parsed = parse(messages, source, connector, topics, since.epochs)
    parsed = once(with_incarnations(parsed, connector, since.incarnations))
    placed = _placed(spark, source, connector, parsed, since, len(taken))
    groups = profile(placed, since.position)
    return whole_batch(source, since, landed, (messages, placed, groups), len(taken))


def load_messages(batch: Batch) -> list[Message]:
    """What each message of a replay says it is."""
    names = ("database", "schema_name", "table_name", "incarnation")
    rows = batch.envelopes.select(*_COORDINATES, "reason", "control", "op", *names).collect()
    return [
        Message(
            place=(row["topic"], row["partition"], row["offset"]),
            reason=row["reason"],
            control=row["control"],
            op=row["op"],
            identity=TableIdentity(*(row[name] for name in names)) if row["table_name"] else None,
        )
        for row in rows
    ]


def at_places(taken: Iterable[Place], landed: LandedOffsets) -> str:
    """Whether a message is one of those.

    Args:
        taken: Where they stand.
        landed: Has the ids of their topics; a topic that was made again has other messages there.
    """
    offsets: dict[TopicPartition, list[int]] = {}
    for topic, number, offset in taken:
        offsets.setdefault((topic, number), []).append(offset)
    return any_of(
        f"{in_partition(each)} AND topic_id = {literal(landed.topics[each[0]].topic_id)} "
        f"AND offset IN ({', '.join(map(str, sorted(found)))})"
        for each, found in sorted(offsets.items())
    )


def _placed(
    spark: SparkSession,
    source: SourceConfig,
    connector: Connector,
    parsed: DataFrame,
    since: Since,
    most: int,
) -> DataFrame:
    """With positions complete and redeliveries marked, from all that stands before a message."""
    rows = parsed.select("topic", "partition", "running", "unplaced").distinct().collect()
    places = sorted({(row["topic"], row["partition"]) for row in rows})
    if connector.commit_may_be_null and any(row["running"] or row["unplaced"] for row in rows):
        whole = earlier(spark, source, since).where(any_of(map(in_partition, places)))
        needed = whole.select(*_COORDINATES, "log", "position", "running", "unplaced", "high")
        reads = any(row["unplaced"] for row in rows)
        whole = place(once(needed), Progress(), connector, reads_behind_changes=reads)
        found = whole.select(*_COORDINATES, "position")
        parsed = parsed.drop("position").join(found, list(_COORDINATES), "left")
        parsed = once(parsed)
    suspects = parsed.where(suspect(since.position))
    history = earlier_of_same_keys(spark, source, since, suspects, places, most)
    return once(mark(parsed, history, connector, since.position, most))
