"""Who may write a source's silver: the decision, without any clock or catalog of its own.

A lease names a run and carries a fencing token that only rises. A writer compares its token with
the newest one right before each commit; a lower one is refused. See `design.md` §7, "One writer".
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

# A live holder renews every HEARTBEAT_S; silence for TTL_S means that it is gone.
HEARTBEAT_S = 10
TTL_S = 60
# Between two steps of a run no process lives; the lease waits this long for the next one.
BETWEEN_STEPS_S = 600


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
    """

    token: int
    run_id: str
    holder: Holder | None
    expires_at_s: float

    def to_json(self) -> str:
        """The lease as a table property's text."""
        return json.dumps(asdict(self), sort_keys=True)

    @staticmethod
    def from_json(text: str) -> Lease:
        """The lease that `to_json` wrote."""
        values = json.loads(text)
        holder = Holder(**values["holder"]) if values["holder"] else None
        return Lease(values["token"], values["run_id"], holder, values["expires_at_s"])


def may_take(lease: Lease | None, run_id: str, now_s: float, *, holder_is_gone: bool) -> bool:
    """Whether a run may take the lease now.

    Args:
        lease: The newest one; None when nobody ever took it.
        run_id: The run that asks; a retry of the holding run may always go on.
        now_s: Seconds since the epoch.
        holder_is_gone: Known only on the holder's own host; False elsewhere.
    """
    if lease is None or lease.expires_at_s <= now_s or holder_is_gone:
        return True
    return lease.run_id == run_id and lease.holder is None
