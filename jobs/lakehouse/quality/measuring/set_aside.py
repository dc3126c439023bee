"""How many messages of each topic partition a run set aside, and how many it may.

In: what `apply` counted. Out: the metrics of the suite `quarantine`. A topic of which nothing can
be read changes no table, so that nothing else would end its runs (`reliability.md` §7).
"""

from __future__ import annotations

from collections.abc import Mapping

from lakehouse.plan.batches.conservation import Law, laws_of
from lakehouse.quality.judgement import Measurement

# So few are looked at one by one, whatever their share.
_ALWAYS = 100


def set_aside(counts: Mapping[str, object]) -> tuple[Measurement, ...]:
    """The topic partitions of which messages were set aside.

    Args:
        counts: Of a row of `apply`, as `to_json_counts` stored them.
    """
    return tuple(
        Measurement(
            f"{topic}/{partition}",
            {"quarantined": law.quarantined, "quarantine_limit": max(_ALWAYS, _decided(law) // 2)},
            {},
        )
        for (topic, partition), law in laws_of(counts).items()
        if law.quarantined
    )


def _decided(law: Law) -> int:
    """The messages with changes that do not wait."""
    return law.applied + law.superseded + law.quarantined
