"""Suite `bronze`: what landed is each message of the offset range, once."""

from __future__ import annotations

from expectations.suite import Severity, Suite, at_most, equal, none_of

SUITE = Suite(
    name="bronze",
    subject="topic partition",
    description="Every message of the landed offset range is in bronze exactly once.",
    rules=(
        none_of("duplicate_offsets", "No offset of the topic partition is in bronze twice."),
        at_most(
            "range_start",
            "first_offset",
            "No message lies before the offset range that was landed.",
        ),
        at_most(
            "next_offset",
            "range_end",
            "No message lies at or behind the end of the landed offsets; the next landing would "
            "land it again.",
        ),
        equal(
            "messages",
            "messages_landed",
            "Bronze holds as many messages of the range as landing counted.",
            optional=True,
        ),
        none_of(
            "skipped_offsets",
            "The landing began where the one before it had ended; else messages between the two "
            "are not in bronze.",
            optional=True,
        ),
        none_of(
            "missing_offsets",
            "Every offset of the range has a message; others belonged to ends of the producer's "
            "transactions, or were compacted away before they could be landed.",
            severity=Severity.INFO,
        ),
        none_of(
            "missing_coordinates", "Every message has its topic, partition, offset and topic id."
        ),
        none_of(
            "missing_timestamps",
            "Every message has the timestamp that Kafka gave it.",
            severity=Severity.WARNING,
        ),
        none_of(
            "future_timestamps",
            "No message was sent more than an hour after it was landed: a clock is wrong.",
            severity=Severity.WARNING,
        ),
        none_of(
            "ancient_timestamps",
            "No message was sent before the year 2000: a clock is wrong.",
            severity=Severity.WARNING,
        ),
        none_of(
            "large_messages",
            "No message is larger than 8 MB: one of more than 16 MB cannot be applied.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "deletes_without_tombstone",
            "Every delete event has its tombstone behind it, in a topic where others have one: "
            "a message that is missing there may have been lost.",
            severity=Severity.WARNING,
            optional=True,
        ),
        none_of(
            "hours_behind",
            "The newest message was sent within the hour before it was landed: no runs were left "
            "out.",
            severity=Severity.INFO,
            optional=True,
        ),
    ),
)
