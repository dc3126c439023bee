"""The lag of a source in words, the same in `lakehouse status` and on pages."""

from __future__ import annotations

from datetime import datetime

from lakehouse.plan.cuts.lag import SourceLag, seconds_behind

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def lag_sentence(lag: SourceLag) -> str:
    """What waits, and whether a source for which nothing waits is known to be alive."""
    if lag.messages:
        waiting = seconds_behind(lag.waits_since, lag.messages, lag.as_of)
        age = "" if waiting is None else f", the oldest for {duration_text(waiting)}"
        return f"{count_text(lag.messages, 'message')} waiting{age}"
    return "all that has landed is published" if lag.unseen else f"nothing waits{_alive(lag)}"


def _alive(lag: SourceLag) -> str:
    """An idle source is not a stale one: its connector goes on to say that it is there."""
    newest = "no change event yet" if lag.newest is None else f"newest {_ago(lag, lag.newest)}"
    if lag.heartbeat is None:
        return f"; {newest}, no heartbeat"
    quiet = lag.newest is None or lag.newest < lag.heartbeat
    return f"; {newest}, heartbeat {_ago(lag, lag.heartbeat)}" if quiet else f"; {newest}"


def _ago(lag: SourceLag, time: datetime) -> str:
    return f"{duration_text(max(0.0, (lag.as_of - time).total_seconds()))} ago"


def duration_text(seconds: float) -> str:
    """A duration in its largest whole unit."""
    size, unit = next((each for each in _UNITS if seconds >= each[0]), (1, "second"))
    return count_text(int(seconds // size), unit)


def count_text(count: int, what: str, *, is_whole: bool = True) -> str:
    """A number and what is counted, of which there may be more that were not counted."""
    return f"{number_text(count, is_whole=is_whole)} {what}" + "s" * (count != 1 or not is_whole)


def number_text(count: int, *, is_whole: bool) -> str:
    """The number alone."""
    return f"{count:,}" if is_whole else f"{count:,} or more"


def held_text(keys: int) -> str:
    """How many keys of tables wait for a quarantined event; empty for none."""
    return f"{count_text(keys, 'key')} held by quarantined events" if keys else ""
