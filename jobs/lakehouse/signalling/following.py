"""Follows a signal: notifications until its snapshot ends, then cuts until its rows are published.

Everything is read anew from where the signal was sent, so that following can end and begin again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from confluent_kafka import Message

from lakehouse.config import SourceConfig
from lakehouse.errors import NotYet, SignalRefused, SnapshotFailed
from lakehouse.names import parse_table
from lakehouse.plan.cuts.snapshots import Publication, publication, topics_of
from lakehouse.plan.signals.followed import Followed
from lakehouse.plan.signals.handover import Handover
from lakehouse.plan.signals.notifications import parse_notification
from lakehouse.plan.signals.progress import advance, begin, said
from lakehouse.plan.signals.request import Action
from lakehouse.signalling.topics import consumer, end_offsets, poll
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.kafka import read_topics

# So long after the notification every row before it has reached its topic: the connector's
# producer waits for brokers one by one.
SETTLED = timedelta(seconds=5)
# Stop, pause and resume are answered after the chunk that is being read.
_ANSWERED_S = 120.0
_PAUSE_S = 3.0

Tell = Callable[[str], None]


@dataclass(slots=True)
class Follower:
    """Follows one signal.

    Attributes:
        patience_s: How long to follow; then NotYet is raised.
        tell: Is given a sentence whenever something happened.
    """

    handover: Handover
    source: SourceConfig
    properties: Mapping[str, str]
    ledger: Ledger
    patience_s: float
    tell: Tell
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to wait."""
        self._deadline = time.monotonic() + self.patience_s

    def run(self) -> str:
        """Follow it to its end.

        Returns:
            The cut in which its rows are published; empty for a signal that reads none.

        Raises:
            NotYet: It goes on.
            SignalRefused: The connector sends no notifications.
            SnapshotFailed: A table was not read whole, or waits for a person.
            KafkaUnreachable: No broker answers.
        """
        ended = self.await_end()
        if self.handover.asked.action is not Action.SNAPSHOT:
            self.tell(f"{self.handover.asked.action}: done")
            return ""
        self.tell(f"read: {ended.rows} rows; waiting for a run of ingest to publish them")
        return self._await_publication(ended)

    def await_end(self) -> Followed:
        """Follow the notifications alone, until what the signal asked for has happened.

        Raises:
            NotYet: It goes on.
            SignalRefused: The connector sends no notifications.
            SnapshotFailed: A table was not read whole.
            KafkaUnreachable: No broker answers.
        """
        state, topic = begin(self.handover.asked), self.handover.topic
        if not topic:
            raise SignalRefused(
                f"signal {state.asked.signal_id}: sent, but the connector tells nothing of it: "
                "expected 'sink' in notification.enabled.channels and notification.sink.topic.name"
            )
        if state.asked.action is not Action.SNAPSHOT:
            self.tell(f"waiting for the connector's answer, {_ANSWERED_S:.0f} s at most")
        known = end_offsets(self.properties, topic)
        starts = dict.fromkeys(known or (0,), 0) | dict(self.handover.starts)
        with consumer(self.properties, topic, starts) as opened:
            # What was there already is told as one.
            catching_up = True
            while state.ended_ms is None:
                before, message = state, poll(opened)
                if message is not None:
                    state = _with(state, message)
                if catching_up and (message is None or _is_last(message, known)):
                    catching_up = False
                    self._tell_all(state.sentences())
                elif not catching_up:
                    self._tell_all(said(before, state))
                if message is None:
                    self._check_patience(state)
        if catching_up:
            # It had ended before it was followed.
            self._tell_all(state.sentences())
        if state.failures:
            raise SnapshotFailed("; ".join(state.failures))
        return state

    def _tell_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.tell(text)

    def _check_patience(self, state: Followed) -> None:
        begun = self._deadline - self.patience_s
        is_snapshot = state.asked.action is Action.SNAPSHOT
        if not is_snapshot and time.monotonic() > begun + _ANSWERED_S:
            raise SnapshotFailed(
                f"{state.asked.action}: no answer within {_ANSWERED_S:.0f} s: expected an "
                "incremental snapshot that runs; there is none, or the connector does not run"
            )
        self._wait_no_longer("; ".join(state.sentences()))

    def _await_publication(self, ended: Followed) -> str:
        end = datetime.fromtimestamp((ended.ended_ms or 0) / 1000, UTC) + SETTLED
        told = ""
        while True:
            wait = min(max((end - datetime.now(UTC)).total_seconds(), 0), SETTLED.total_seconds())
            time.sleep(wait)
            found = self._publication(end)
            if found.held:
                raise SnapshotFailed(
                    f"read, but not published: {'; '.join(found.held)}; see `lakehouse tables "
                    f"--source {self.source.name}`"
                )
            if found.is_whole:
                self.tell(f"published: cut {found.cut}")
                return found.cut
            text = f"not published yet: {found.behind} messages behind cut {found.cut or '(none)'}"
            if text != told:
                self.tell(text)
                told = text
            self._wait_no_longer(text)
            time.sleep(_PAUSE_S)

    def _publication(self, end: datetime) -> Publication:
        connector = self.source.connector
        tables = [parse_table(text, connector) for text in self.handover.tables]
        found = read_topics(self.source, self.properties, end)
        wanted = topics_of(tables, found.existing, self.source)
        bounds = [topic for topic in found.bounds if topic.topic in wanted]
        return publication(bounds, tables, self.ledger.newest_cut(self.source.name), self.source)

    def _wait_no_longer(self, text: str) -> None:
        if time.monotonic() > self._deadline:
            raise NotYet(f"signal {self.handover.asked.signal_id} goes on: {text}")


def _with(state: Followed, message: Message) -> Followed:
    notification = parse_notification(message.value(), message.timestamp()[1])
    return state if notification is None else advance(state, notification)


def _is_last(message: Message, known: Mapping[int, int]) -> bool:
    return (message.offset() or 0) + 1 >= known.get(message.partition() or 0, 0)
