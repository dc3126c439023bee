"""A run's turn to write silver: the lease, what an earlier run announced, the newest cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lakehouse.errors import StepFailed
from lakehouse.plan.records import CutRow
from lakehouse.spark.control.leases import Leases
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.forwarding import roll_forward


@dataclass(frozen=True, slots=True)
class Turn:
    """A run that writes while no other one does.

    Attributes:
        token: Its fencing token.
        check: Refuses to go on once another run took the lease; to call before each commit.
        cut: The newest published cut; None before the first one.
    """

    token: int
    check: Callable[[], None]
    cut: CutRow | None


def in_turn(
    context: StepContext, work: Callable[[Turn], StepOutcome], *, between_steps: bool = False
) -> StepOutcome:
    """Do a step's work once it is the run's turn; the lease is kept unless the run ends with it.

    Args:
        context: The run.
        work: What is done under the lease.
        between_steps: Whether it waits for a run between two of its steps, too.

    Raises:
        Superseded: Another run held the lease all the time, or took it meanwhile.
    """
    leases = Leases(context.ledger.catalog, context.source.name)
    token = leases.take(context.run_id, between_steps=between_steps)
    with leases.held(token, context.run_id, lone_step=context.lone_step) as check:
        roll_forward(context, check)
        outcome = work(Turn(token, check, context.ledger.newest_cut(context.source.name)))
    if outcome.ends_run:
        leases.give_back(token, context.run_id)
    return outcome


def needed(source: str, cut: CutRow | None) -> CutRow:
    """The newest cut of a source, without which a step has nothing to do.

    Raises:
        StepFailed: There is none.
    """
    if cut is None:
        raise StepFailed(
            f"Source {source!r}: no cut is published: expected one; "
            f"do `lakehouse run --source {source}` first"
        )
    return cut
