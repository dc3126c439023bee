"""Tables that need a snapshot are read again by their own run: `schema_changes.resnapshot`.

In: the newest cut's marks. Out: one signal for each marked table, sent once. What stays unsent
stays marked, and says why: a run does not fail by it.
"""

from __future__ import annotations

import uuid

from confluent_kafka import KafkaException

from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import LakehouseError
from lakehouse.names import TableIdentity, format_table
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.cuts.stale import StaleColumns, stale_of
from lakehouse.plan.records import CutRow
from lakehouse.plan.signals.request import Action, Request
from lakehouse.signalling.requests import send
from lakehouse.steps.context import StepContext

_PERSON = "schema_changes.resnapshot"


def read_stale_again(context: StepContext) -> tuple[str, ...]:
    """Ask for an incremental snapshot of each table that needs one, unless it was asked for.

    Args:
        context: Of the run that has published.

    Returns:
        What was done of each table, and why something was not.
    """
    source, settings = context.source, context.settings
    # An archive is of another time, or of another source, than the database that is there now.
    if context.archive is not None:
        return ()
    cut = context.ledger.newest_cut(source.name) if source.schema_changes.resnapshot else None
    if cut is None:
        return ()
    known = identities_of(cut)
    return tuple(
        _asked(source, settings, cut, TableIdentity.of(known[silver]), marks)
        for silver, marks in stale_of(cut).items()
        if silver in known
    )


def _asked(
    source: SourceConfig,
    settings: Settings,
    cut: CutRow,
    table: TableIdentity,
    marks: StaleColumns,
) -> str:
    name = format_table(table, source.connector)
    request = Request(Action.SNAPSHOT, (table,), person=_PERSON)
    try:
        return send(request, source, settings, None, signal_id(cut.source, name, marks)).told
    except (LakehouseError, KafkaException) as refused:
        return (
            f"table {name} needs a snapshot, which could not be asked for: {refused}: once that is "
            f"mended the next run asks, or `lakehouse signal --source {source.name} snapshot`"
        )


def signal_id(source: str, table: str, marks: StaleColumns) -> str:
    """Of one id no second signal is sent: the newest mark names it, which is the last to go."""
    newest = max(mark.since for mark in marks.values())
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{source}/{table}/{newest}"))
