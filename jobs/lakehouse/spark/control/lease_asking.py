"""Who asks for a source's lease: when it is free for him, what he gets, what he is told if not."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from lakehouse.plan.lease import TTL_S, Lease, may_maintain, may_take
from lakehouse.spark.control.holders import is_gone, this_process

# Maintenance holds the lease for one table at a time, and most runs are short.
_PATIENCE_S = 1800


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks for the lease, and for whom he waits.

    Attributes:
        staged: The token under which he has staged rows already; 0 for none.
        between_steps: Whether he waits for a run between two of its steps, too.
        patience_s: For how many seconds he waits.
    """

    run_id: str
    staged: int = 0
    is_upkeep: bool = False
    between_steps: bool = False
    patience_s: float = _PATIENCE_S

    def waits_for(self, seen: Lease) -> bool:
        """Whether he waits for the one who holds a lease, who may be between two of its steps."""
        return self.is_upkeep or self.between_steps or seen.holder is not None


def expiry(ttl_s: float) -> float:
    """So many seconds from now on, as a lease has it."""
    return time.time() + ttl_s


def is_free(seen: Lease, asking: Asking) -> bool:
    """Whether he may take it now."""
    now, gone = time.time(), is_gone(seen)
    if asking.is_upkeep:
        return may_maintain(seen, now, holder_is_gone=gone)
    return may_take(seen, asking.run_id, now, holder_is_gone=gone)


def next_lease(seen: Lease | None, asking: Asking) -> Lease:
    """The lease that he takes, of a token higher than the newest one."""
    token, before = (seen.token + 1, seen.work) if seen else (1, 0)
    left = before if asking.is_upkeep else asking.staged
    return Lease(token, asking.run_id, this_process(), expiry(TTL_S), left, asking.is_upkeep)


def held_by(source: str, lease: Lease) -> str:
    """What he is told who waits no longer."""
    return (
        f"Source {source!r}: run {lease.run_id!r} holds the lease"
        f"{_between_steps(source, lease)}: expected it to be free; this run stops as superseded, "
        "and the next one goes on"
    )


def _between_steps(source: str, lease: Lease) -> str:
    """How a person goes on with a run of which only some steps were called."""
    if lease.holder is not None:
        return ""
    until = datetime.fromtimestamp(lease.expires_at_s, UTC)
    return (
        f" until {until:%Y-%m-%d %H:%M:%S} UTC, between two of its steps (`lakehouse run --source "
        f"{source} --run-id {lease.run_id} --from-step STEP` goes on with it)"
    )
