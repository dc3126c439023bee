"""Counts of a batch by outcome, from its profile and from what staging did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lakehouse.config import SourceConfig
from lakehouse.plan.batches.batch import is_foreign_topic
from lakehouse.plan.batches.conservation import Outcomes, summed
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TablePlan, TopicPartition
from lakehouse.spark.batches.batch import Batch
from lakehouse.spark.staging.stage import Staged


def outcomes(
    batch: Batch,
    source: SourceConfig,
    plans: Sequence[TablePlan],
    staged: Mapping[str, Staged],
    foreign: Mapping[TopicPartition, int],
    pending_before: Mapping[TopicPartition, int],
) -> Outcomes:
    """Sort every message of the batch into its place.

    Args:
        batch: Its groups say what the messages are.
        source: Says which tables are control tables.
        plans: The tables' plans, held ones included.
        staged: What was staged, by silver table.
        foreign: Messages that the quarantine took for their topic alone.
        pending_before: What waited after the run before.
    """
    total = _counts(batch.all_groups)
    inside = _counts(batch.groups)
    events = [g for g in batch.groups if _is_event(g, source)]
    bad = summed(table.quarantined for table in staged.values())
    unreadable = _counts(g for g in batch.groups if g.reason is not None and not g.control)
    quarantined = summed((unreadable, foreign, bad))
    counted = Counter(_counts(events))
    counted.subtract(bad)
    return Outcomes(
        total=total,
        waiting={place: count - inside.get(place, 0) for place, count in total.items()},
        control=_counts(g for g in batch.groups if g.control or _is_control(g, source)),
        quarantined=quarantined,
        events=dict(counted),
        superseded=summed(table.superseded for table in staged.values()),
        held=_held(plans, staged, events),
        pending_before=pending_before,
    )


def _held(
    plans: Sequence[TablePlan], staged: Mapping[str, Staged], events: Iterable[Group]
) -> dict[TopicPartition, int]:
    """Events of held tables that staging did not see."""
    held = {plan.identity: plan for plan in plans if plan.hold}
    rest: Counter[TopicPartition] = Counter()
    for group in events:
        if group.identity in held:
            rest[(group.topic, group.partition)] += group.count
    for plan in held.values():
        if plan.silver in staged:
            rest.subtract(staged[plan.silver].seen)
    return dict(rest)


def _is_event(group: Group, source: SourceConfig) -> bool:
    return (
        group.identity is not None
        and not _is_control(group, source)
        and not is_foreign_topic(group, source)
    )


def _is_control(group: Group, source: SourceConfig) -> bool:
    return group.identity is not None and source.is_control_table(group.identity)


def _counts(groups: Iterable[Group]) -> dict[TopicPartition, int]:
    total: Counter[TopicPartition] = Counter()
    for group in groups:
        total[(group.topic, group.partition)] += group.count
    return dict(total)
