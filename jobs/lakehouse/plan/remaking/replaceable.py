"""When rebuilt tables may take the place of the old: no message is gone, nothing moved meanwhile.

In: what landed and what bronze has, the cuts that were published meanwhile. Out: nothing, or the
reason why a rebuild is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from lakehouse.errors import StepFailed
from lakehouse.plan.batches.tables import ENDINGS, Place, TopicPartition
from lakehouse.plan.cuts.published import excluded_of, renames_of, replaced_of
from lakehouse.plan.records import CutRow, RunRow


def landed_messages(runs: Iterable[RunRow]) -> Counter[TopicPartition]:
    """Topic partition → how many messages the runs recorded as landed, of all topics of its name.

    A landing that was killed before it left its row is not among them.
    """
    found: Counter[TopicPartition] = Counter()
    for row in runs:
        if row.step == "land" and row.status == "succeeded":
            for topic, counts in json.loads(row.counts).get("topics", {}).items():
                found.update({(topic, int(number)): int(n) for number, n in counts.items()})
    return found


def refuse_gaps(
    source: str,
    landed: Mapping[TopicPartition, int],
    there: Mapping[TopicPartition, int],
    topic_ids: Mapping[str, Collection[str]],
) -> None:
    """Rows whose messages are gone from bronze would be lost without a word.

    Args:
        source: Its name.
        landed: Topic partition → messages that were landed.
        there: Topic partition → messages that bronze has.
        topic_ids: Topic → the ids under which its messages were landed.

    Raises:
        StepFailed: Bronze lacks messages, or has those of two topics of one name.
    """
    for (topic, number), count in sorted(landed.items()):
        if there.get((topic, number), 0) < count:
            raise StepFailed(
                f"Source {source!r}: bronze has {there.get((topic, number), 0)} messages of "
                f"{topic}[{number}]: expected the {count} that were landed; what they made of "
                "silver cannot be made again: read the tables again with an incremental snapshot"
            )
    for topic, ids in sorted(topic_ids.items()):
        if len(ids) > 1:
            raise StepFailed(
                f"Source {source!r}: topic {topic!r} was created again (ids {sorted(ids)}): "
                "expected one, since its offsets order its messages; read the tables again with "
                "an incremental snapshot"
            )


def refuse_meanwhile(
    built: CutRow,
    cuts: Sequence[CutRow],
    tables: Collection[str],
    replayed: Collection[Place],
) -> None:
    """What cannot be caught up is not overwritten.

    Args:
        built: The cut that the tables are built to.
        cuts: The published cuts behind it, oldest first.
        tables: The silver tables of the rebuild.
        replayed: Messages that left the quarantine meanwhile.

    Raises:
        StepFailed: Tables or columns got other names, tables stopped, a replay or another
            rebuild published.
    """
    reasons = [f"{len(replayed)} messages left the quarantine"] if replayed else []
    for cut in cuts:
        moved = {name for pair in json.loads(cut.moves or "[]") for name in pair}
        renamed, stopped = renames_of(cut.renames), excluded_of(cut)
        others = {name for name in tables if any(name + e in replaced_of(cut) for e in ENDINGS)}
        for names, what in (
            (moved, "tables got other names"),
            (renamed, "columns got other names, or went"),
            (stopped, "tables stopped"),
            (others, "another rebuild was published"),
        ):
            if mine := sorted(set(names) & set(tables)):
                reasons.append(f"cut {cut.cut_id}: {what}: {', '.join(mine)}")
    if reasons:
        raise StepFailed(
            f"Source {built.source!r}: built to cut {built.cut_id}, and then {'; '.join(reasons)}: "
            "expected changes of rows alone meanwhile; nothing was replaced, do the rebuild again"
        )
