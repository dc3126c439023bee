"""Who may write a source's silver: the decision, without any clock or catalog of its own.

A lease names a run and carries a fencing token that only rises. A writer compares its token with
the newest one right before each commit; a lower one is refused. See `design.md` §7, "One writer".
Maintenance takes the lease too, between the steps of a run as well: it changes no row, so that
what the run has staged may still be published.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

# A live holder renews every HEARTBEAT_S; silence for TTL_S means that it is gone.
HEARTBEAT_S = 10
TTL_S = 60
# Between two steps of a run no process lives; the lease waits this long for the next one.
BETWEEN_STEPS_S = 600
# No lease lasts longer than that: one that seems to was written under another clock. Who takes it
# too early does no harm, since the token tells whose rows may be published.
_LONGEST_S = BETWEEN_STEPS_S + TTL_S


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, told apart from a later one with the same id by its start time."""

    host: str
    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The newest lease of one source.

    Attributes:
        token: Fencing token, rising by one with each taking.
        run_id: The run that took it.
        holder: The process that works under it; None between two steps of a run.
        expires_at_s: Seconds since the epoch; nobody needs to wait longer.
        staged: The token under which rows were staged that may still be published, where
            maintenance came between; 0 where that is the lease's own.
        is_upkeep: Whether maintenance holds it.
    """

    token: int
    run_id: str
    holder: Holder | None
    expires_at_s: float
    staged: int = 0
    is_upkeep: bool = False

    @property
    def work(self) -> int:
        """The token under which rows were staged that may still be published."""
        return self.staged or self.token

    def is_over(self, now_s: float) -> bool:
        """Whether nobody needs to wait for it anymore, at a time in seconds since the epoch."""
        return not now_s < self.expires_at_s <= now_s + _LONGEST_S

    def to_json(self) -> str:
        """The lease as a table property's text."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Lease:
        """The lease that `to_json` wrote."""
        values = json.loads(text)
        holder = Holder(**values["holder"]) if values["holder"] else None
        return Lease(**{**values, "holder": holder})


def may_take(lease: Lease | None, run_id: str, now_s: float, *, holder_is_gone: bool) -> bool:
    """Whether a run may take the lease now.

    Args:
        lease: The newest one; None when nobody ever took it.
        run_id: The run that asks; a retry of the holding run may always go on.
        now_s: Seconds since the epoch.
        holder_is_gone: Known only on the holder's own host; False elsewhere.
    """
    if lease is None or lease.is_over(now_s) or holder_is_gone:
        return True
    return lease.run_id == run_id and lease.holder is None


def may_maintain(lease: Lease | None, now_s: float, *, holder_is_gone: bool) -> bool:
    """Whether maintenance may take the lease now: no process works under it.

    Args:
        lease: The newest one; None when nobody ever took it.
        now_s: Seconds since the epoch.
        holder_is_gone: Known only on the holder's own host; False elsewhere.
    """
    return lease is None or lease.holder is None or lease.is_over(now_s) or holder_is_gone


def handed_back(mine: Lease, before: Lease | None) -> Lease:
    """The lease as maintenance leaves it: the run before has as long left as it had.

    Args:
        mine: The one that maintenance holds.
        before: The one that it found; None where nobody ever took it.
    """
    if before is None or before.holder is not None:
        return Lease(mine.token, mine.run_id, None, 0, mine.staged)
    return Lease(mine.token, before.run_id, None, before.expires_at_s, mine.staged)
