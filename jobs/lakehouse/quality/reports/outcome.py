"""How a run ended: its verdict and one sentence, with what its cut leaves out of the source.

In: the rows of its steps in `quality.runs`. Out: a verdict and a sentence. Pure.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.cuts.lag_words import count_text
from lakehouse.plan.records import RunRow
from lakehouse.quality.judgement import Verdict

# How a row of quality.runs ends that did what it should.
SUCCEEDED = "succeeded"
# The law's terms in its order, then what is pending by reason.
_LAW = (
    *("landed", "pending_before", "applied", "superseded", "quarantined", "control"),
    *("pending_after", "open_transaction", "held_table"),
)


def run_outcome(
    steps: Sequence[RunRow], judged: Mapping[str, str], staged: StagedCut | None
) -> tuple[Verdict, str]:
    """The verdict and the sentence of a run: a warning where its cut leaves something out.

    Args:
        steps: Its steps; at least one.
        judged: What `validate` says in its detail; empty where it was not reached.
        staged: What `apply` staged; None for nothing.
    """
    failed = next((row for row in steps if row.status != SUCCEEDED), None)
    validated = next((row for row in steps if row.step == "validate"), steps[-1])
    if failed is None:
        verdict = Verdict(judged.get("verdict", Verdict.NO_DATA))
        left = tuple(_left_out(steps, staged))
        is_warned = bool(left) and verdict is Verdict.PASSED
        return Verdict.WARNING if is_warned else verdict, "; ".join((validated.message, *left))
    told = f"{failed.step} {failed.status}: {failed.message}"
    if judged:
        return Verdict.ERROR, f"not published: {told}; validation: {validated.message}"
    return Verdict.ERROR, f"not validated: {told}"


def _left_out(steps: Sequence[RunRow], staged: StagedCut | None) -> Iterator[str]:
    """The tables and keys that its cut leaves behind, and the messages that the run set aside."""
    tables = len(staged.excluded) if staged else 0
    keys = _counts(steps, "publish").get("held_keys", 0)
    behind = []
    if tables:
        behind.append(f"{count_text(tables, 'table')} {'waits' if tables == 1 else 'wait'}")
    if keys:
        behind.append(f"{count_text(keys, 'key')} {_are(keys)} held")
    if behind:
        yield f"{', '.join(behind)} (`lakehouse tables` says for what)"
    messages = _quarantined(steps)
    if messages:
        told = f"{count_text(messages, 'message')} {_are(messages)} in quarantine"
        yield f"{told} (`lakehouse report` lists what waits there)"


def _quarantined(steps: Sequence[RunRow]) -> int:
    """How many messages a run set aside."""
    return conservation_totals(_counts(steps, "apply")).get("quarantined", 0)


def _counts(steps: Sequence[RunRow], step: str) -> dict[str, Any]:
    return next((json.loads(row.counts) for row in steps if row.step == step), {})


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def conservation_totals(counts: Mapping[str, object]) -> dict[str, int]:
    """The law's counts summed over topic partitions, from `counts` of a row of apply."""
    total: Counter[str] = Counter()
    for law in counts.values():
        if isinstance(law, Mapping):
            total.update({name: n for name, n in law.items() if isinstance(n, int)})
    return {name: total[name] for name in _LAW if name in total}
