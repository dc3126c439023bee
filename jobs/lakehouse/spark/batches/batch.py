"""A batch: the bronze messages between two cuts, parsed once, and how far they may be applied.

In: what is landed and not applied, parsed. Out: a `Batch` with cached envelopes, their profile and
schemas, and the ends that keep transactions whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig, TopicRole
from lakehouse.connectors import Connector
from lakehouse.plan.batches.batch import table_groups
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.epochs import Epoch
from lakehouse.plan.progress import limited, messages_between
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.batches.completing import complete
from lakehouse.spark.batches.incarnations import with_incarnations
from lakehouse.spark.batches.parsed import Parsed, read_slice_parsed
from lakehouse.spark.batches.profile import Schemas, load_schemas, profile
from lakehouse.spark.batches.schema_samples import SchemaSamples
from lakehouse.spark.ordering.key_changes import together
from lakehouse.spark.ordering.since import Since, told_earlier
from lakehouse.spark.sql import all_of, in_partition
from lakehouse.spark.transactions.whole import (
    Surroundings,
    TransactionCut,
    cut_transactions,
    patience_ms,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What lies between two cuts.

    Attributes:
        messages: Bronze rows.
        envelopes: The rows parsed, cached, positions complete.
        all_groups: Their profile.
        groups: The profile of what is before `end`.
        schemas: Table → fingerprint → columns.
        landed: How far bronze goes.
        end: How far this batch may be applied.
        transactions: Why it ends there.
        size: How many messages it has at most.
        epochs: The logs that the source has had, with those that begin in the batch.
        findings: What a person should know of their positions.
    """

    messages: DataFrame
    envelopes: DataFrame
    all_groups: tuple[Group, ...]
    groups: tuple[Group, ...]
    schemas: Schemas
    landed: LandedOffsets
    end: LandedOffsets
    transactions: TransactionCut
    size: int
    epochs: tuple[Epoch, ...]
    findings: tuple[str, ...] = ()


def open_batch(
    spark: SparkSession,
    source: SourceConfig,
    connector: Connector,
    parsed: Parsed,
    until: datetime | None,
    lost: Collection[str] = (),
) -> Batch:
    """How far what is landed and not applied may be applied.

    Args:
        spark: The session.
        source: The source.
        connector: Its position fields.
        parsed: What is landed and not applied.
        until: End of the data interval; None for whatever is there.
        lost: Topics of which offsets were lost that transactions of the batch may have had.
    """
    followed, landed = parsed.followed, parsed.landed
    since = followed.since
    read = (followed.envelopes, parsed.groups)
    placed, groups = complete(spark, source, connector, read, since)
    clock = _stream_time(groups, until)
    before_it = partial(told_earlier, spark, source, since)
    around = Surroundings(clock, since.position, landed, before_it, since.left_behind, lost)
    cut = _cut(placed, groups, source, connector, around)
    if any(group.halves for group in groups):
        deadline = clock - patience_ms(source)
        cut = _with_whole_key_changes(placed, cut, since, landed, deadline)
    end = limited(landed, cut.ends)
    inside = placed.where(before(end, cut.ends)) if cut.ends else placed
    final = profile(inside, since.position) if cut.ends else groups
    return Batch(
        messages=parsed.messages,
        envelopes=inside,
        all_groups=groups,
        groups=final,
        schemas=load_schemas(
            parsed.samples,
            inside,
            table_groups(final, source),
            source,
            since.incarnations,
            whole=not cut.ends,
        ),
        landed=landed,
        end=end,
        transactions=cut,
        size=messages_between(since.progress, landed),
        epochs=since.epochs,
        findings=followed.findings,
    )


def open_until(
    spark: SparkSession,
    source: SourceConfig,
    connector: Connector,
    since: Since,
    end: LandedOffsets,
) -> Batch:
    """Parse what stands before a cut: it ends there, and its logs are those of the cut.

    Args:
        spark: The session.
        source: The source.
        connector: Its position fields.
        since: Where it begins, and the logs that the cut knows.
        end: The offsets of the cut, which keep transactions whole.
    """
    messages, envelopes = read_slice_parsed(spark, source, since, end)
    named = with_incarnations(envelopes, connector, since.incarnations)
    read = (named, profile(named, since.position))
    placed, groups = complete(spark, source, connector, read, since)
    size = messages_between(since.progress, end)
    return whole_batch(source, since, end, (messages, placed, groups), size)


def whole_batch(
    source: SourceConfig,
    since: Since,
    end: LandedOffsets,
    parsed: tuple[DataFrame, DataFrame, tuple[Group, ...]],
    size: int,
) -> Batch:
    """A batch of which nothing waits for the end of a transaction.

    Args:
        source: The source.
        since: Where it begins, and the logs that are known.
        end: The offsets that it ends at.
        parsed: Its bronze rows, the same parsed, and their groups.
        size: How many messages it has at most.
    """
    messages, placed, groups = parsed
    tables = table_groups(groups, source)
    return Batch(
        messages=messages,
        envelopes=placed,
        all_groups=groups,
        groups=groups,
        schemas=load_schemas(SchemaSamples(messages), placed, tables, source, since.incarnations),
        landed=end,
        end=end,
        transactions=TransactionCut(),
        size=size,
        epochs=since.epochs,
    )


def _cut(
    placed: DataFrame,
    groups: Iterable[Group],
    source: SourceConfig,
    connector: Connector,
    around: Surroundings,
) -> TransactionCut:
    is_asked = source.transactions.consistent and source.kafka.transactions is not None
    # Most sources send none: three queries less.
    named = (g for g in groups if g.in_transactions or g.role == TopicRole.TRANSACTION)
    if not is_asked or next(named, None) is None:
        return TransactionCut()
    return cut_transactions(placed, source, connector, around)


def _with_whole_key_changes(
    placed: DataFrame, cut: TransactionCut, since: Since, landed: LandedOffsets, deadline_ms: int
) -> TransactionCut:
    ends, findings = together(placed, cut.ends, since, landed, deadline_ms)
    return replace(cut, ends=ends, findings=(*cut.findings, *findings))


def _stream_time(groups: Iterable[Group], until: datetime | None) -> int:
    """The source's clock: its newest message, or the interval's end; never the wall clock."""
    newest = max((group.arrived_ms for group in groups), default=0)
    return max(newest, int(until.timestamp() * 1000)) if until else newest


def before(end: LandedOffsets, ends: Mapping[TopicPartition, int]) -> str:
    """Whether a message is before the first one that waits in its topic partition."""
    return all_of(
        f"NOT ({in_partition(place)} AND offset >= {end.next_offset(*place) or 0})"
        for place in sorted(ends)
    )
