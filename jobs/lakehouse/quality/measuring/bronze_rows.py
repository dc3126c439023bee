"""Landed messages as SQL that gives rows which metrics are summed from.

In: the offset ranges of landings. Out: `SELECT` texts for its messages, and the metrics of the
suite `bronze` from what Spark counted.
"""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from lakehouse.names import bronze_table
from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metric_rows import Counted, Keyed
from lakehouse.spark.bronze.appended import appends
from lakehouse.spark.sql import any_of, in_offsets, literal
from lakehouse.spark.tables import full_name

# Metric → whether a message counts in it. None needs the bytes of a value: those cost more than all
# other columns.
TESTS = {
    "missing_coordinates": "topic IS NULL OR partition IS NULL OR offset IS NULL "
    "OR topic_id IS NULL",
    "missing_timestamps": "timestamp IS NULL",
    "future_timestamps": "timestamp > landed_at + INTERVAL 1 HOUR",
    "ancient_timestamps": "timestamp < TIMESTAMP '2000-01-01'",
}
_LANDED = "landed_messages"
_SUBJECT = "concat(coalesce(topic, '?'), '/', coalesce(string(partition), '?'))"


def landed_messages(session: SparkSession, source: str, landed: LandedRanges) -> str:
    """The relation that has what landed, as a view of the session.

    Args:
        session: In which it is read.
        source: Its name.
        landed: What landed and is to be judged.
    """
    reader = session.read.options(**appends(landed.known))
    reader.table(full_name(bronze_table(source))).createOrReplaceTempView(_LANDED)
    return _LANDED


def bronze_counted(messages: str, landed: LandedRanges, width: int) -> tuple[str, ...]:
    """The messages of the landed ranges, and all that these landings brought, counted.

    Args:
        messages: From `landed_messages`.
        landed: What landed and is to be judged.
        width: How many rules of persons the statements of tables count.
    """
    if not landed.ranges:
        return ()
    own = landed_by(landed)
    tests = {name: f"int(coalesce({test}, false))" for name, test in TESTS.items()}
    counted = Counted(
        subject=_SUBJECT,
        counts={"messages": f"int({own})", **tests},
        offset=f"if({own}, offset, NULL)",
        newest=f"if({own}, unix_micros(timestamp), NULL)",
        width=width,
    )
    return (counted.select(messages, f"WHERE {_read(landed)}"),)


def bronze_keys(messages: str, landed: LandedRanges) -> tuple[str, ...]:
    """The same messages, each by its offset."""
    if not landed.ranges:
        return ()
    keyed = Keyed(_SUBJECT, "offset", "0", n="1", rows="1")
    return (keyed.select(messages, _read(landed)),)


def _read(landed: LandedRanges) -> str:
    return any_of((landed_by(landed), *map(in_range, landed.ranges)))


def bronze_measurement(
    place: str, planned: OffsetRange | None, landed: LandedRanges, row: Row | None
) -> Measurement:
    """The metrics of one topic partition.

    Args:
        place: Topic and partition, with a slash between.
        planned: Its range; None for messages that lie in none.
        landed: What landed and is to be judged.
        row: What Spark counted; None for nothing.
    """
    measured = row.asDict() if row is not None else {}
    at = (planned.topic, planned.partition) if planned else ("", 0)
    start, end = (planned.start, planned.end) if planned else (0, 0)
    first, last = measured.get("first_offset"), measured.get("last_offset")
    counted, there = landed.messages.get(at, 0), measured.get("row_count", 0)
    values: dict[str, int | None] = {
        "duplicate_offsets": measured.get("repeated", 0),
        "range_start": start,
        "first_offset": start if first is None else first,
        "next_offset": start if last is None else last + 1,
        "range_end": end,
        "messages": measured.get("messages", 0),
        "messages_landed": counted if landed.messages else None,
        # Some are taken by ends of the producer's transactions, or were compacted away.
        "missing_offsets": max(0, end - start - (there - measured.get("repeated", 0))),
        "skipped_offsets": landed.skipped.get(at),
        "hours_behind": landed.hours_behind(measured.get("newest")),
        **{name: measured.get(name, 0) for name in TESTS},
        **landed.parsed.get(place, {}),
    }
    return Measurement(place, values, {})


def landed_by(landed: LandedRanges) -> str:
    """Whether a message was landed by one of these landings, its range right or not."""
    since = f"timestamp_micros({int(landed.since.timestamp() * 1_000_000)})"
    return f"run_id IN ({', '.join(map(literal, landed.runs))}) AND landed_at >= {since}"


def in_range(each: OffsetRange) -> str:
    """Whether a message lies in a landed range."""
    offsets = in_offsets((each.topic, each.partition), each.start, each.end)
    return f"{offsets} AND topic_id = {literal(each.topic_id)}"
