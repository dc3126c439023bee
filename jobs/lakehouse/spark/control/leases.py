"""The lease of a source, kept in the catalog: one atomic commit takes it.

In: a source and a run. Out: a fencing token, and the check to call before each commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import structlog
from pyiceberg.catalog import Catalog

from lakehouse.errors import Superseded, first_line
from lakehouse.failpoints import reach
from lakehouse.plan.lease import BETWEEN_STEPS_S, HEARTBEAT_S, TTL_S, Lease, handed_back
from lakehouse.spark.control.holders import this_process
from lakehouse.spark.control.lease_asking import Asking, expiry, held_by, is_free, next_lease
from lakehouse.spark.control.lease_table import LeaseTable

_LOG = structlog.get_logger()
_TRIES = 20
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Upkeep:
    """The lease while maintenance holds it.

    Attributes:
        token: Its fencing token.
        work: The token under which rows may be staged that a run still publishes.
        check: Refuses to go on once another one took the lease; to call before each commit.
    """

    token: int
    work: int
    check: Callable[[], None]


class Leases:
    """Takes, renews, checks and gives back the lease of one source."""

    def __init__(self, catalog: Catalog, source: str) -> None:
        self._source = source
        self._table = LeaseTable(catalog, source)

    def current(self) -> Lease | None:
        """The newest lease; None when the source never had one."""
        return self._table.current()

    def take(self, run_id: str, *, between_steps: bool = False) -> int:
        """Take the lease for this process, once no other process works under it.

        Args:
            run_id: The run that asks.
            between_steps: Whether it waits for a run between two of its steps too, which other
                processes do. Where those may wait for this one, it must not.

        Returns:
            The new fencing token.

        Raises:
            Superseded: Another run holds it, between two of its steps or for half an hour.
        """
        return self._take(Asking(run_id, between_steps=between_steps))[1].token

    def check(self, token: int) -> None:
        """Refuse to go on when the token is not the newest one.

        Raises:
            Superseded: Another run took the lease meanwhile.
        """
        newest = self.current()
        if newest is None or newest.token != token:
            raise Superseded(
                f"Source {self._source!r}: token {token} is not the newest "
                f"({newest.token if newest else None}): another run took over; nothing was written"
            )

    @contextmanager
    def held(self, token: int, run_id: str, *, lone_step: bool) -> Iterator[Callable[[], None]]:
        """Keep a taken lease alive while a step works; gives the check to call before commits.

        Args:
            token: From `take`, by this step or by an earlier one of the run.
            run_id: The run that took it.
            lone_step: Whether another process does the next step; the lease then waits for it.
                Otherwise this process keeps it, and gives it up by dying.

        Raises:
            Superseded: Another run took the lease, now or at the end.
        """
        mine = self._own(token, run_id) or self._take(Asking(run_id, token))[1]
        mine = replace(mine, run_id=run_id, holder=this_process())
        with self._beating(mine):
            yield lambda: self.check(mine.token)
        holder = None if lone_step else this_process()
        self._renew(replace(mine, holder=holder), BETWEEN_STEPS_S)

    @contextmanager
    def upkeep(self, run_id: str, patience_s: float) -> Iterator[Upkeep]:
        """The lease for the maintenance of one table, between two steps of a run as well.

        Args:
            run_id: Names the maintenance.
            patience_s: For how many seconds it waits for a process that works under the lease.

        Raises:
            Superseded: One works longer than that, or another run took the lease meanwhile.
        """
        asking = Asking(run_id, is_upkeep=True, patience_s=patience_s)
        before, mine = self._take(asking)
        try:
            with self._beating(mine):
                yield Upkeep(mine.token, mine.work, lambda: self.check(mine.token))
        finally:
            self._write(handed_back(mine, before))

    def give_back(self, token: int, run_id: str) -> None:
        """End the lease; the next run need not wait."""
        mine = self._own(token, run_id)
        if mine is None:
            self.check(token)
        else:
            # Whatever another machine's clock says.
            self._write(replace(mine, holder=None, expires_at_s=0))

    def _own(self, token: int, run_id: str) -> Lease | None:
        """The newest lease, if it is still the run's; None where another one came between."""
        newest = self.current()
        if newest is None or newest.token == token:
            return newest
        came_back = newest.work == token and newest.run_id == run_id
        return newest if came_back else None

    def _take(self, asking: Asking) -> tuple[Lease | None, Lease]:
        """The lease before, and the one that was taken."""
        until = time.monotonic() + asking.patience_s
        for _ in range(_TRIES):
            seen = self._once_free(asking, until)
            mine = next_lease(seen, asking)
            if self._table.took(mine):
                reach("after_lease")
                return seen, mine
        raise Superseded(f"Source {self._source!r}: the lease was contended {_TRIES} times; retry")

    def _once_free(self, asking: Asking, until: float) -> Lease | None:
        """The newest lease, once it may be taken."""
        told = ""
        while True:
            seen = self.current()
            if asking.staged and (seen is None or seen.work != asking.staged):
                self.check(asking.staged)
            if seen is None or is_free(seen, asking):
                return seen
            if not asking.waits_for(seen) or time.monotonic() >= until:
                raise Superseded(held_by(self._source, seen))
            if told != seen.run_id:
                told = seen.run_id
                _LOG.info("waiting for another run", source=self._source, run_id=told)
            time.sleep(_LOOK_S)

    @contextmanager
    def _beating(self, mine: Lease) -> Iterator[None]:
        """Renew the lease now and every few seconds."""
        self._renew(mine, TTL_S)
        done = threading.Event()
        beat = threading.Thread(target=self._beat, args=(mine, done), daemon=True)
        beat.start()
        try:
            yield
        finally:
            done.set()
            beat.join()

    def _beat(self, mine: Lease, done: threading.Event) -> None:
        while not done.wait(HEARTBEAT_S):
            try:
                self._renew(mine, TTL_S)
            except Superseded:
                return
            except Exception as failure:  # noqa: BLE001 - the next one may come in time
                reason = first_line(failure)
                _LOG.warning("lease not renewed", source=self._source, reason=reason)

    def _renew(self, lease: Lease, ttl_s: float) -> None:
        self._write(replace(lease, expires_at_s=expiry(ttl_s)))

    def _write(self, lease: Lease) -> None:
        for _ in range(_TRIES):
            self.check(lease.token)
            if self._table.wrote(lease):
                return
