"""The figures at the top of a source's page, pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from lakehouse.plan.cuts.lag import SourceLag
from lakehouse.plan.cuts.lag_words import count_text, lag_sentence, number_text
from lakehouse.plan.cuts.published import held_of
from lakehouse.quality.pages.facts import RunFacts
from lakehouse.quality.pages.model import Card, TableLine
from lakehouse.quality.pages.reading import SourceRecords
from lakehouse.quality.reports.text import minute_text


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
    total = f"{applied:,} in {count_text(len(runs), 'run')}"
    judged = last.tone if last.failed else "passed"
    return (
        *_freshness(records),
        Card("Rows", f"{rows:,}", f"in {count_text(len(tables), 'table')}"),
        Card("Changes applied", f"{last.law.get('applied', 0):,}", total),
        Card("Expectations", f"{last.passed:,} passed", f"{last.failed:,} failed", judged),
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
    """What waited when a run last looked; the day, where none did, as with archives."""
    details = (json.loads(row.detail) for run in reversed(records.runs) for row in reversed(run))
    found = next((detail["lag"] for detail in details if "lag" in detail), None)
    if found is not None:
        return lag_sentence(SourceLag.from_json(json.dumps(found)))
    return f"{records.newest_message:%Y-%m-%d}" if records.newest_message else ""


def _quarantine(records: SourceRecords) -> Card:
    waiting, keys = len(records.quarantine), sum(held_of(records.cut).values())
    return Card(
        "In quarantine",
        number_text(waiting, is_whole=records.is_quarantine_whole),
        f"{count_text(keys, 'key')} held",
        "warning" if waiting or keys else "passed",
    )
