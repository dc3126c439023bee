"""The figures at the top of a source's page, pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from lakehouse.plan.handover import held_of
from lakehouse.quality.pages.facts import RunFacts
from lakehouse.quality.pages.model import Card, TableLine
from lakehouse.quality.pages.reading import SourceRecords
from lakehouse.quality.text import minute_text

_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def cards(
    records: SourceRecords, runs: Sequence[RunFacts], tables: Sequence[TableLine], held: int
) -> tuple[Card, ...]:
    """The figures.

    Args:
        records: Rows of the source.
        runs: Its runs, oldest first.
        tables: Its silver tables.
        held: How many of them are held.
    """
    last = runs[-1]
    rows = sum(table.rows or 0 for table in tables)
    applied = sum(run.law.get("applied", 0) for run in runs)
    total = f"{applied:,} in {_many(len(runs), 'run')}"
    return (
        *_freshness(records),
        Card("Rows", f"{rows:,}", f"in {_many(len(tables), 'table')}"),
        Card("Changes applied", f"{last.law.get('applied', 0):,}", total),
        Card("Expectations", f"{last.passed:,} passed", f"{last.failed:,} failed", last.tone),
        Card(
            "Held tables",
            f"{held:,}",
            "wait for a person" if held else "none waits",
            "failed" if held else "passed",
        ),
        _quarantine(records),
    )


def _freshness(records: SourceRecords) -> tuple[Card, Card]:
    cut, newest = records.cut, records.newest_message
    published = ("never", "no cut yet")
    if cut is not None:
        published = (_clock(cut.recorded_at), f"{cut.recorded_at:%Y-%m-%d}, cut {cut.cut_id}")
    landed = (_clock(newest), _lag(records)) if newest else ("none", "of the runs shown")
    return (
        Card("Published", *published, "" if cut else "failed"),
        Card("Newest message", *landed),
    )


def _clock(time: datetime) -> str:
    return f"{minute_text(time).split()[1]} UTC"


def _lag(records: SourceRecords) -> str:
    """How old the newest message was when the newest cut was published."""
    if records.cut is None or records.newest_message is None:
        return "nothing is published"
    seconds = (records.cut.recorded_at - records.newest_message).total_seconds()
    if seconds < 0:
        return f"{records.newest_message:%Y-%m-%d}, behind the cut"
    size, unit = next((each for each in _UNITS if seconds >= each[0]), (1, "second"))
    return f"{_many(int(seconds // size), unit)} before the cut"


def _quarantine(records: SourceRecords) -> Card:
    waiting, keys = len(records.quarantine), sum(held_of(records.cut).values())
    return Card(
        "In quarantine",
        f"{waiting:,}" if records.is_quarantine_whole else f"{waiting:,} or more",
        f"{_many(keys, 'key')} held",
        "warning" if waiting or keys else "passed",
    )


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
