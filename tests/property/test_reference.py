"""The reference applier against the histories: an independent judge has to be right itself.

`LAKEHOUSE_SOAK_FACTOR` scales how many histories are tried.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.property.cuts import PLANS, Plan
from tests.property.dialects import DIALECTS
from tests.property.histories import History, build_history, histories
from tests.property.laws import hold
from tests.property.mutants import MUTANTS, TruncateByPair
from tests.property.reference import Reference
from tests.support.sampling import sample

FACTOR = float(os.environ.get("LAKEHOUSE_SOAK_FACTOR", "1"))
HISTORIES = int(720 * FACTOR)  # For each connector: 5,040 in all.
MUTANT_HISTORIES = 2000  # A mutant that survives so many shows that the laws are too weak.
AT_ONCE = Plan(lagging=False, cuts=())
FIXED = settings(
    derandomize=True,
    database=None,
    report_multiple_bugs=False,
    deadline=None,
    max_examples=HISTORIES,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("connector", DIALECTS)
def test_the_reference_ends_like_the_source_and_each_cut_is_a_state_of_it(
    connector: str, figure: Callable[[str], None]
) -> None:
    ran: Counter[str] = Counter()

    @FIXED
    @given(histories(connector), PLANS)
    def judge(history: History, plan: Plan) -> None:
        ran[connector] += 1
        hold(history, plan, Reference(connector))
        hold(history, AT_ONCE, Reference(connector))

    judge()
    assert ran[connector] >= HISTORIES
    figure(f"reference, {connector}: {ran[connector]} histories")


_MISTAKES = [(mutant, connector) for mutant in MUTANTS for connector in mutant.connectors]


@pytest.mark.parametrize(
    ("mutant", "connector"),
    [
        pytest.param(mutant, connector, id=f"{mutant.make.__name__}-{connector}")
        for mutant, connector in sample(_MISTAKES, lambda mistake: mistake[0].make.__name__)
    ],
)
def test_a_mistake_is_found(mutant, connector: str) -> None:
    """`make test` tries each mistake with one connector."""

    @settings(FIXED, max_examples=MUTANT_HISTORIES, phases=[Phase.generate])
    @given(histories(connector), PLANS)
    def judge(history: History, plan: Plan) -> None:
        hold(history, plan, mutant.make(connector))

    with pytest.raises(AssertionError):
        judge()


def test_a_truncate_is_not_ordered_by_sequences_that_were_null_in_another_partition() -> None:
    """Too rare to wait for: of a transaction `t` arrived before a crash, the update after it."""
    steps = [(0, [0]), (0, [0]), (0, [0]), (0, [0]), (0, [0]), (453, [0, 7])]
    history = build_history(DIALECTS["postgresql"], steps, settings=140)
    hold(history, AT_ONCE, Reference("postgresql"))
    with pytest.raises(AssertionError, match="the end is not the source's"):
        hold(history, AT_ONCE, TruncateByPair("postgresql"))
