"""What a staged cut is once it is published: its row, and where the tables stay that are refused.

In: a staged cut, the newest published one. Out: rows and values of the control tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity, topic_of
from lakehouse.plan.batches.tables import ENDINGS
from lakehouse.plan.cuts.handover import StagedCut, StagedTable, held_after
from lakehouse.plan.cuts.published import Excluded, excluded_of, identities_of
from lakehouse.plan.cuts.stale import stale_after
from lakehouse.plan.progress import Progress, replaced
from lakehouse.plan.records import CutRow


def pending_cut(
    by: tuple[str, str], staged: StagedCut, left: Mapping[str, Excluded], base: CutRow | None
) -> CutRow:
    """The cut that is announced, before it counts.

    Args:
        by: The source and the run that publishes.
        staged: The cut, with the tables that may be published.
        left: The tables that are refused, and where they stay.
        base: The newest published cut.
    """
    source, run_id = by
    moved = _moved(staged)
    known = {moved.get(name, name): s for name, s in base.tables.items()} if base else {}
    for table in staged.tables:
        known |= {moved.get(name, name): s for name, s in table.snapshots.items()}
    there = {*identities_of(base), *(table.silver for table in staged.tables)}
    names = {moved.get(name, name) for name in there}
    identities = {name: staged.identities[name] for name in sorted(names)}
    held = held_after(base, staged.tables, moved)
    behind = {**staged.excluded, **left}
    excluded = {moved.get(name, name): asdict(entry) for name, entry in behind.items()}
    return CutRow(
        source=source,
        cut_id=staged.cut_id,
        state="pending",
        run_id=run_id,
        recorded_at=datetime.now(UTC),
        token=staged.token,
        offsets=staged.offsets,
        position=staged.position,
        transactions=staged.transactions,
        tables=known,
        excluded=json.dumps(excluded, sort_keys=True),
        held_keys=sum(held.values()),
        identities=json.dumps(identities, sort_keys=True),
        renames=json.dumps(
            {moved.get(n, n): asdict(r) for n, r in staged.renames.items() if n not in left},
            sort_keys=True,
        ),
        moves=json.dumps(staged.moves),
        held=json.dumps(held),
        epochs=staged.epochs,
        replaced=_replaced(staged),
        stale=stale_after(base, staged.stale, staged.stale.keys() - behind.keys(), moved),
    )


def _replaced(staged: StagedCut) -> str:
    """What the rebuilt tables replace, of those that are published."""
    allowed = {name for table in staged.tables for name in table.snapshots}
    found = {name: old for name, old in sorted(staged.replaced.items()) if name in allowed}
    return json.dumps(found) if found else ""


def _moved(staged: StagedCut) -> dict[str, str]:
    """Old name → new name of every table that gets one, those that belong to it included."""
    return {was + ending: name + ending for was, name in staged.moves for ending in ENDINGS}


def refusal(
    source: SourceConfig, staged: StagedCut, table: StagedTable, base: CutRow | None, why: str
) -> Excluded:
    """A refused table stays where it was, which may be behind the newest cut already.

    Args:
        source: The source.
        staged: The cut that it is refused from.
        table: The table.
        base: The newest published cut.
        why: What validation found.
    """
    reason = f"validation keeps it back: {why}"
    earlier = excluded_of(base).get(table.silver)
    if earlier is not None:
        return replace(earlier, reason=reason)
    own = topic_of(TableIdentity.of(table.identity), source.topic_prefix, source.connector)
    before = Progress.from_json(base.offsets if base else "")
    after = Progress.from_json(staged.offsets).offsets
    limits = {
        (topic, number): before.next_offset(topic, number)
        for topic in {own, *table.topics, *source.kafka.topic_tables}
        if topic in after.topics
        for number in after.topics[topic].next_offsets
    }
    left = before.narrowed(replaced(after, limits))
    return Excluded(base.cut_id if base else "", reason, left.to_json())


def published_snapshots(
    cut: CutRow, staged: StagedCut, allowed: tuple[StagedTable, ...]
) -> dict[str, int]:
    """The tables that got a new snapshot, and which.

    Args:
        cut: As it is published.
        staged: As it was staged.
        allowed: The tables of it that may be published.
    """
    moved = _moved(staged)
    changed = (name for table in allowed if table.changed for name in table.snapshots)
    return {moved.get(name, name): cut.tables[moved.get(name, name)] for name in changed}
