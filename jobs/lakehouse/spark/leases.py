"""The lease of a source, kept in the catalog: one atomic commit takes it.

In: a source and a run. Out: a fencing token. A lease is a table property of `quality.leases`, and
taking it creates the branch `<source>_<token>` in the same commit. Two takers of one token cannot
both create it: Iceberg's requirement `assert-ref-snapshot-id` fails for the second
(https://iceberg.apache.org/spec/#table-metadata-and-snapshots), on every catalog.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.table import Table
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableRequirement,
    TableUpdate,
)

from lakehouse.errors import Superseded
from lakehouse.plan.lease import BETWEEN_STEPS_S, HEARTBEAT_S, TTL_S, Holder, Lease, may_take
from lakehouse.spark.metadata import ensure_namespace

_TABLE = "quality.leases"
_TRIES = 20


class Leases:
    """Takes, renews, checks and gives back the lease of one source."""

    def __init__(self, catalog: Catalog, source: str) -> None:
        self._catalog = catalog
        self._source = source
        self._property = f"lease.{source}"

    def current(self) -> Lease | None:
        """The newest lease; None when the source never had one."""
        text = self._load().properties.get(self._property)
        return Lease.from_json(text) if text else None

    def take(self, run_id: str) -> int:
        """Take the lease for this process.

        Returns:
            The new fencing token.

        Raises:
            Superseded: A living run holds it.
        """
        for _ in range(_TRIES):
            table = self._load()
            text = table.properties.get(self._property)
            seen = Lease.from_json(text) if text else None
            if not may_take(seen, run_id, time.time(), holder_is_gone=_is_gone(seen)):
                raise Superseded(_held(self._source, seen))
            token = (seen.token if seen else 0) + 1
            if self._commit_taking(table, Lease(token, run_id, _this_process(), _expiry(TTL_S))):
                return token
        raise Superseded(f"Source {self._source!r}: the lease was contended {_TRIES} times; retry")

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
            token: From `take`.
            run_id: The run that took it.
            lone_step: Whether another process does the next step; the lease then waits for it.
                Otherwise this process keeps it, and gives it up by dying.

        Raises:
            Superseded: The token is not the newest one, now or at the end.
        """
        self._renew(token, run_id, _this_process(), TTL_S)
        done = threading.Event()
        beat = threading.Thread(target=self._beat, args=(token, run_id, done), daemon=True)
        beat.start()
        try:
            yield lambda: self.check(token)
        finally:
            done.set()
            beat.join()
        holder = None if lone_step else _this_process()
        self._renew(token, run_id, holder, BETWEEN_STEPS_S)

    def give_back(self, token: int, run_id: str) -> None:
        """End the lease; the next run need not wait."""
        self._renew(token, run_id, None, 0)

    def _beat(self, token: int, run_id: str, done: threading.Event) -> None:
        while not done.wait(HEARTBEAT_S):
            try:
                self._renew(token, run_id, _this_process(), TTL_S)
            except Superseded:
                return

    def _renew(self, token: int, run_id: str, holder: Holder | None, ttl_s: float) -> None:
        for _ in range(_TRIES):
            self.check(token)
            table = self._load()
            guard = AssertRefSnapshotId(ref=self._ref(token), **{"snapshot-id": _head(table)})
            lease = Lease(token, run_id, holder, _expiry(ttl_s))
            if self._commit(table, (guard,), (self._note(lease),)):
                return

    def _commit_taking(self, table: Table, lease: Lease) -> bool:
        fresh = self._ref(lease.token)
        requirements = (AssertRefSnapshotId(ref=fresh, **{"snapshot-id": None}),)
        updates: tuple[TableUpdate, ...] = (
            SetSnapshotRefUpdate(**{"ref-name": fresh, "snapshot-id": _head(table), "type": "tag"}),
            self._note(lease),
        )
        old = self._ref(lease.token - 1)
        if old in table.metadata.refs:
            updates += (RemoveSnapshotRefUpdate(**{"ref-name": old}),)
        return self._commit(table, requirements, updates)

    def _note(self, lease: Lease) -> TableUpdate:
        return SetPropertiesUpdate(updates={self._property: lease.to_json()})

    def _commit(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> bool:
        try:
            self._catalog.commit_table(table, requirements, updates)
        except CommitFailedException:
            return False
        return True

    def _ref(self, token: int) -> str:
        return f"{self._source}_{token}"

    def _load(self) -> Table:
        try:
            return self._catalog.load_table(_TABLE)
        except NoSuchTableError:
            return self._create()

    def _create(self) -> Table:
        rows = pa.table({"created_by": ["lakehouse"]})
        ensure_namespace(self._catalog, _TABLE.partition(".")[0])
        try:
            table = self._catalog.create_table(_TABLE, schema=rows.schema)
        except TableAlreadyExistsError:
            table = self._catalog.load_table(_TABLE)
        if table.current_snapshot() is None:
            # A ref needs a snapshot to point at.
            table.append(rows)
        return self._catalog.load_table(_TABLE)


def _head(table: Table) -> int:
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise RuntimeError(f"{_TABLE} has no snapshot: expected the one of its creation")
    return snapshot.snapshot_id


def _expiry(ttl_s: float) -> float:
    return time.time() + ttl_s


def _this_process() -> Holder:
    return Holder(socket.gethostname(), os.getpid(), _start_of(os.getpid()) or 0)


def _start_of(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot (proc(5), field 22); None if none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _is_gone(lease: Lease | None) -> bool:
    holder = lease.holder if lease else None
    if holder is None or holder.host != socket.gethostname():
        return False
    # A lease that this process left is nobody's any more: it runs one step at a time.
    return holder == _this_process() or _start_of(holder.pid) != holder.started


def _held(source: str, lease: Lease | None) -> str:
    return (
        f"Source {source!r}: run {lease.run_id if lease else None!r} holds the lease: "
        "expected it to be free; this run stops as superseded, and the next one goes on"
    )
