"""What became of a landing's messages in Kafka between its plan and its end.

In: the plan, and what Kafka holds now. Out: nothing, or LandingRefused with the lost offsets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from lakehouse.errors import LandingRefused
from lakehouse.plan.topics.landing import LandingPlan, plan_landing
from lakehouse.plan.topics.offsets import TopicBounds


def refuse_lost(
    plan: LandingPlan, bounds: Iterable[TopicBounds], existing: Collection[str]
) -> None:
    """Refuse a plan of which offsets are not in Kafka any more; also where loss was accepted.

    Args:
        plan: What was to be landed.
        bounds: What the source's topics hold now.
        existing: The topics that exist now.

    Raises:
        LandingRefused: With the offsets of each topic partition that are gone.
    """
    before = plan.landed.without(plan.ranges)
    plan_landing(before, bounds, gone=before.topics.keys() - set(existing))


def refuse_other_topics(plan: LandingPlan, ids: Mapping[str, str]) -> None:
    """Refuse messages that came from a topic which took the name of the planned one.

    Args:
        plan: What was read.
        ids: Topic → its id, behind the read.

    Raises:
        LandingRefused: With the topics whose id is another one.
    """
    planned = {each.topic: each.topic_id for each in plan.ranges}
    others = [topic for topic, known in sorted(planned.items()) if ids[topic] != known]
    if others:
        raise LandingRefused(
            "\n".join(
                f"Topic {topic!r}: id {ids[topic]!r} behind the read: expected {planned[topic]!r}, "
                "as planned. It was deleted and created again meanwhile; nothing was landed, run "
                "it again"
                for topic in others
            )
        )
