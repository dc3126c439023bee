"""A history told in parts to several tables, with a run after each part or one at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from lakehouse.steps.context import StepOutcome
from tests.support.debezium import Postgres, Table
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

Row = dict[str, object]


@dataclass
class Source:
    """A source whose history is told in parts, after each of which a run may come."""

    runs: Runs
    batched: bool
    pg: Postgres
    heads: tuple[Table, ...]
    places: int = 0

    def cut(self) -> None:
        """A place where a batch may end; `make test` ends one at every second place."""
        self.places += 1
        if self.batched and (EVERY_CASE or self.places % 2):
            self.finish()

    def finish(self) -> dict[str, StepOutcome]:
        outcome = self.runs.run(self.pg)
        assert laws_hold(outcome["apply"])
        assert outcome["validate"].detail["verdict"] == "passed"
        assert outcome["publish"].status == "succeeded"
        return outcome

    def snapshot(self, *rows: Row) -> None:
        """The same rows in every table."""
        for head in self.heads:
            self.pg.snapshot(head, list(rows))

    def send(self, *changes: tuple[str, Row | None, Row | None]) -> None:
        """One transaction with the same changes in every table."""
        self.pg.transact(*((head, *change) for head in self.heads for change in changes))

    def update(self, *rows: Row) -> None:
        self.send(*(("u", None, row) for row in rows))

    def take_last(self, send: Callable[[], None]) -> list[dict[str, object]]:
        """Events of one transaction, to be sent later through other topic partitions."""
        before = len(self.pg.messages)
        send()
        sent = self.pg.messages[before:]
        events = [message for message in sent if '"op"' in str(message)]
        self.pg.messages[before:] = [message for message in sent if message not in events]
        offsets: defaultdict[object, Iterator[int]] = defaultdict(count)
        return [
            {**event, "partition": 1, "offset": next(offsets[event["topic"]])} for event in events
        ]
