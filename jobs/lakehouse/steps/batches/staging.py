"""The tables of a batch staged, several at once, and how far the batch goes.

In: an open batch and its plans. Out: a `Staged` value for each table, the progress of the source
once the batch is published.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lakehouse.config import mask_secret
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.progress import Progress
from lakehouse.spark.batches.reached import reached
from lakehouse.spark.sessions import Sessions
from lakehouse.spark.staging.stage import Staged, stage_table
from lakehouse.spark.staging.writing import Work
from lakehouse.steps.batches.applying import Applying, commit_summary
from lakehouse.steps.together import together


def stage_all(
    work: Applying, plans: Sequence[TablePlan], touched: Mapping[str, str] | None = None
) -> dict[str, Staged]:
    """Stage the tables, several at once, each in a session that no other one has meanwhile.

    Args:
        work: The open batch.
        plans: Those of its tables that are staged.
        touched: Silver table → the global view of the rows that are made; of the others all are.
    """
    views, sessions = touched or {}, Sessions(work.context.spark)
    octets = _octets(work.batch.groups)
    work.batch.envelopes.createOrReplaceGlobalTempView(_view(work))
    try:
        staged = together(
            lambda plan: _stage(
                work, sessions, plan, views.get(plan.silver, ""), octets[plan.identity]
            ),
            plans,
        )
    finally:
        work.context.spark.catalog.dropGlobalTempView(_view(work))
    return {plan.silver: result for plan, result in zip(plans, staged, strict=True)}


def _octets(groups: Iterable[Group]) -> Counter[TableIdentity | None]:
    """Table → how much text the batch has of it."""
    found = Counter[TableIdentity | None]()
    for group in groups:
        found[group.identity] += group.octets
    return found


def _stage(
    work: Applying, sessions: Sessions, plan: TablePlan, touched: str, octets: int
) -> Staged:
    summary = commit_summary(work.context, work.token, work.cut_id, work.batch.end.to_json())
    with sessions.one() as session:
        staging = Work(
            session,
            work.context.ledger.catalog,
            plan,
            work.branch,
            summary,
            work.check,
            _messages(work, plan),
            octets,
            mask_secret(work.context.source),
            replay=work.context.replay,
            touched=touched,
        )
        return stage_table(staging, session.table(f"global_temp.{_view(work)}"))


def _messages(work: Applying, plan: TablePlan) -> int:
    """How many messages of the batch are the table's at most: those of its topic partitions."""
    if work.context.replay or work.rebuilt:
        return work.batch.size
    end = work.batch.end
    counts = (
        (end.next_offset(*place) or 0) - plan.start.next_offset(*place) for place in plan.places
    )
    return sum(max(0, count) for count in counts)


def _view(work: Applying) -> str:
    return f"envelopes_{work.token}_{re.sub(r'[^a-z0-9]', '_', work.context.source.name)}"


def highs(work: Applying) -> tuple[Progress, str]:
    """The progress once the batch is published, and the highest position of all that is applied."""
    batch, before = work.batch, work.since
    progress, position = reached(batch.groups, before.progress, batch.end, work.connector)
    return progress, max(before.position, position)
