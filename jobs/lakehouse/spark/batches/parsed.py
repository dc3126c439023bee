"""What is landed and not applied, parsed once for the steps of one process.

In: a source, the newest cut, the landed offsets. Out: its envelopes in their logs. `check` and
`apply` need the same: what the first has found, the second takes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.plan.progress import messages_between, ranges_between
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.topics.offsets import LandedOffsets
from lakehouse.spark.batches.incarnations import with_incarnations
from lakehouse.spark.batches.profile import profile
from lakehouse.spark.batches.schema_samples import SchemaSamples
from lakehouse.spark.bronze.appended import appends, known_snapshot
from lakehouse.spark.bronze.slices import read_slice
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.once import once
from lakehouse.spark.ordering.new_logs import Followed, follow_logs
from lakehouse.spark.ordering.since import Since
from lakehouse.spark.parsing.envelopes import ROWS_OF_WORK, parse
from lakehouse.spark.parsing.heads import load_heads
from lakehouse.spark.session import are_few, in_tasks, tune

# To look for a topic's head costs less than it saves: 20 us of CPU a message (measured).
_MANY = 50_000
# As rows they take some 1.1 kB each: more than a heap as the project sets it has room for.
_MORE_THAN_FIT = 400_000
# Iceberg reads small files together, 16 MB at a time, whatever is to be done with their rows.
_EACH_FILE_ALONE = MappingProxyType({"file-open-cost": "16777216"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """What is landed and not applied.

    Attributes:
        messages: Bronze rows.
        envelopes: The same parsed, in the logs that were known before.
        followed: The same in all their logs, with the names of today as far as they were known.
        groups: The profile of these.
        samples: The schemas that the messages carry.
        landed: How far bronze goes.
    """

    messages: DataFrame
    envelopes: DataFrame
    followed: Followed
    groups: tuple[Group, ...]
    samples: SchemaSamples
    landed: LandedOffsets


def read_slice_parsed(
    spark: SparkSession,
    source: SourceConfig,
    since: Since,
    end: LandedOffsets,
    known: int | None = None,
) -> tuple[DataFrame, DataFrame]:
    """Bronze rows, and the same parsed.

    A local checkpoint keeps the rows and cuts the plan short, unlike a cache: each later query
    would analyse the whole parsing again.

    Args:
        spark: The session.
        source: The source.
        since: Where it begins.
        end: Where it ends.
        known: From `appended.known_snapshot`.
    """
    count = messages_between(since.progress, end)
    work = ROWS_OF_WORK * count
    tune(spark, work)
    is_large = not are_few(spark, work)
    options = {**_EACH_FILE_ALONE, **appends(known)}
    messages = in_tasks(read_slice(spark, source, since.progress, end, options), count)
    connector = CONNECTORS[source.connector]
    heads = load_heads(messages, _starts_of_large(since, end))
    envelopes = parse(messages, source, connector, sorted(end.topics), since.epochs, heads)
    # A part of it is generated while it runs, in whatever way the session is tuned then.
    is_packed = count > _MORE_THAN_FIT
    parsed = once(envelopes, eager=is_large, is_large=is_packed) if count else envelopes
    tune(spark, count)
    return messages, parsed


def _starts_of_large(since: Since, end: LandedOffsets) -> dict[TopicPartition, int]:
    """Where topic partitions with many messages begin, those with most first."""
    found = ranges_between(since.progress, end)
    large = [(behind - start, place, start) for place, start, behind in found]
    return {place: start for count, place, start in sorted(large, reverse=True) if count >= _MANY}


class LastParsed:
    """What a process has parsed last, until another step takes it.

    What it gives is what parsing again would give: it is taken only for the same source, progress
    and landed offsets.
    """

    def __init__(self) -> None:
        self._of: tuple[SourceConfig, Since, LandedOffsets] | None = None
        self._parsed: Parsed | None = None

    def read(
        self,
        spark: SparkSession,
        source: SourceConfig,
        since: Since,
        bronze: Bronze,
        landed: LandedOffsets,
    ) -> Parsed:
        """Parse what is landed and not applied, or take what the step before has parsed.

        Args:
            spark: The session, the same for all steps.
            source: The source.
            since: What is known before it.
            bronze: Its messages.
            landed: How far bronze goes.
        """
        of = (source, replace(since, incarnations=Incarnations()), landed)
        kept = self._parsed if self._of == of else None
        named = partial(
            with_incarnations,
            connector=CONNECTORS[source.connector],
            incarnations=since.incarnations,
        )
        # Names of today take part in how logs are found.
        if kept is not None and not any(since.incarnations.lives()):
            logs = replace(kept.followed.since, incarnations=since.incarnations)
            envelopes, known = named(kept.followed.envelopes), kept.followed.envelopes
            groups = kept.groups if envelopes is known else profile(envelopes, logs.position)
            followed = replace(kept.followed, envelopes=envelopes, since=logs)
            found = replace(kept, followed=followed, groups=groups)
        else:
            messages, envelopes = (
                (kept.messages, kept.envelopes)
                if kept is not None
                else read_slice_parsed(
                    spark, source, since, landed, known_snapshot(bronze, since.progress.offsets)
                )
            )
            if messages_between(since.progress, landed):
                followed = follow_logs(spark, source, since, landed, envelopes, named)
                groups = profile(followed.envelopes, followed.since.position)
            else:
                # To plan what reads nothing takes as long as to plan what does.
                followed, groups = Followed(named(envelopes), since), ()
            samples = kept.samples if kept is not None else SchemaSamples(messages)
            found = Parsed(messages, envelopes, followed, groups, samples, landed)
        is_first = kept is None and since.incarnations == Incarnations()
        self._of, self._parsed = (of, found) if is_first else (None, None)
        return found
