"""What became of a signal, folded from the notifications that came since it was sent.

A connector says COMPLETED whatever happened to the tables: each one's own status counts. A stop
says COMPLETED of what it stopped, too, without a status, and ABORTED behind it with another id
(`AbstractIncrementalSnapshotChangeEventSource`, 3.6.1.Final). Keys that notifications hold are
never shown: they may be of columns that are masked.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from lakehouse.plan.signals.followed import (
    ABORTED,
    NOT_READ,
    NOT_TAKEN,
    STOPPED,
    SUCCEEDED,
    Asked,
    Followed,
    TableProgress,
    of_table,
)
from lakehouse.plan.signals.notifications import INCREMENTAL, INITIAL, Event, Notification
from lakehouse.plan.signals.request import Action, SnapshotType


def begin(asked: Asked) -> Followed:
    """What is known when a signal is sent."""
    is_snapshot = asked.action is Action.SNAPSHOT
    return Followed(asked, dict.fromkeys(asked.collections, TableProgress()) if is_snapshot else {})


def advance(state: Followed, notification: Notification) -> Followed:
    """What is known with one more notification; the same where it is about something else."""
    if state.ended_ms is not None:
        return state
    if state.asked.action is not Action.SNAPSHOT:
        return _answered(state, notification)
    if state.asked.type is SnapshotType.BLOCKING:
        return _of_blocking(state, notification)
    return _of_incremental(state, notification)


def said(before: Followed, after: Followed) -> tuple[str, ...]:
    """What a person is told about a step; of many chunks ever fewer."""
    found = [
        of_table(name, table)
        for name, table in after.tables.items()
        if table != before.tables.get(name) and (table.status or _is_worth_saying(table.chunks))
    ]
    if after.is_seen and not before.is_seen:
        found.insert(0, f"signal {after.asked.signal_id}: taken by the connector")
    if after.is_paused != before.is_paused:
        found.append("paused" if after.is_paused else "resumed")
    return tuple(found)


def _answered(state: Followed, notification: Notification) -> Followed:
    """Stop, pause and resume are answered with the id of the snapshot, not with theirs."""
    answer = {
        Action.STOP: Event.ABORTED,
        Action.PAUSE: Event.PAUSED,
        Action.RESUME: Event.RESUMED,
    }[state.asked.action]
    if notification.kind != INCREMENTAL or notification.event != answer:
        return state
    return replace(state, is_seen=True, ended_ms=notification.at_ms)


def _of_incremental(state: Followed, notification: Notification) -> Followed:
    if notification.kind != INCREMENTAL:
        return state
    # Once it is taken, signals of later give its notifications their ids.
    if not state.is_seen and notification.id != state.asked.signal_id:
        return state
    state = replace(state, is_seen=True)
    if notification.event == Event.STARTED:
        queued = notification.queued
        if notification.id == state.asked.signal_id and queued is not None:
            state = _left(state, NOT_TAKEN, [name for name in state.tables if name not in queued])
    elif notification.event == Event.ABORTED:
        stopped = notification.queued
        state = _left(state, STOPPED, state.tables if stopped is None else stopped)
    elif notification.event == Event.COMPLETED:
        state = _left(state, STOPPED, state.tables)
    elif notification.event in (Event.PAUSED, Event.RESUMED):
        state = replace(state, is_paused=notification.event == Event.PAUSED)
    else:
        state = _of_one_table(state, notification)
    return _ended(state, notification)


def _of_blocking(state: Followed, notification: Notification) -> Followed:
    """No notification of a blocking snapshot has the signal's id: its tables tell it."""
    if notification.kind != INITIAL:
        return state
    event, is_ours = notification.event, notification.table in state.tables
    if event in (Event.IN_PROGRESS, Event.TABLE) and is_ours:
        state = _of_one_table(replace(state, is_seen=True), notification)
    elif event in (Event.COMPLETED, Event.ABORTED) and state.is_seen:
        is_whole = event == Event.COMPLETED
        state = _left(state, NOT_READ if is_whole else ABORTED, state.tables)
        return _ended(state, notification)
    return state


def _of_one_table(state: Followed, notification: Notification) -> Followed:
    name = notification.table
    known = state.tables.get(name)
    if known is None or known.status:
        return state
    if notification.event == Event.IN_PROGRESS:
        known = replace(known, chunks=known.chunks + 1)
    elif notification.event == Event.TABLE and not _is_queued_again(notification):
        status = notification.data.get("status", SUCCEEDED)
        known = replace(known, status=status, rows=notification.rows)
    return replace(state, tables={**state.tables, name: known})


def _is_queued_again(notification: Notification) -> bool:
    """Whether an earlier signal asked for the table too, and this is its reading."""
    is_incremental = notification.kind == INCREMENTAL
    return is_incremental and (notification.queued or ()).count(notification.table) > 1


def _left(state: Followed, status: str, names: Container[str]) -> Followed:
    """Give a status to those of the tables that have none."""
    changed = {
        name: replace(table, status=status)
        for name, table in state.tables.items()
        if name in names and not table.status
    }
    return replace(state, tables={**state.tables, **changed})


def _ended(state: Followed, notification: Notification) -> Followed:
    if all(table.status for table in state.tables.values()):
        return replace(state, ended_ms=notification.at_ms)
    return state


def _is_worth_saying(chunks: int) -> bool:
    return chunks % 100 == 0 or chunks & (chunks - 1) == 0
