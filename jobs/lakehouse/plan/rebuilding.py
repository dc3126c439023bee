"""Rebuild: which tables are made again from bronze, and when they may take the place of the old.

In: the request, the newest cut, what landed and what bronze has, what was published meanwhile.
Out: the tables, or the reason why a rebuild is refused; what differs, as numbers and sentences.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity, format_table, parse_table
from lakehouse.plan.handover import excluded_of, identities_of, renames_of, replaced_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.plan.tables import ENDINGS, MAIN, Place, TopicPartition

# How the branches of rebuilds begin, and the tags of what they have replaced.
REBUILDING, UNDO = "rebuild_", "undo_"
KEYS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Rebuild:
    """What a person asks for.

    Attributes:
        tables: Source tables as the TOML file names them; none for all of the source.
        undo: Whether the newest rebuild is taken back instead.
    """

    tables: tuple[str, ...] = ()
    undo: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """What the batch of one table builds on.

    Attributes:
        columns: Silver's columns before the batch, name → Spark type; empty for no table.
        start: Where the table's events begin.
        applied: Position up to which the table is applied; empty where that is unknown.
        held: How many of its keys wait for a quarantined event.
        base: The ref of its tables whose rows it builds on.
        is_empty: Whether it begins without a row, whatever silver has.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    start: Progress = field(default_factory=Progress)
    applied: str = ""
    held: int = 0
    base: str = MAIN
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """How the rows of a rebuilt table differ from those that it takes the place of.

    Attributes:
        table: Namespace and name of the Iceberg table.
        before: How many rows the running table has; `after` the rebuilt one.
        hashes: A hash over all rows of either, the same in any order.
        lost: How many keys (rows of a table without a key) only the running table has.
        found: How many only the rebuilt one has.
        changed: How many have other rows.
        keys: The first of these keys; none of a table without a key.
        is_unread: Whether the running table cannot be read, so that nothing is known of its rows.
    """

    table: str
    before: int = 0
    after: int = 0
    hashes: tuple[str, str] = ("0", "0")
    lost: int = 0
    found: int = 0
    changed: int = 0
    keys: tuple[str, ...] = ()
    is_unread: bool = False

    @property
    def count(self) -> int:
        """How many keys, or rows, differ; at least one where the running table is not read."""
        return self.lost + self.found + self.changed or int(self.is_unread)

    @property
    def sentence(self) -> str:
        """For a person."""
        return self.shown(KEYS_SHOWN)

    def shown(self, most: int) -> str:
        """For a person, with so many keys at most."""
        if not self.count:
            return f"{self.table}: equal, {self.after} rows"
        if self.is_unread:
            return f"{self.table}: the old rows cannot be read; {self.after} rows in their place"
        parts = ((self.found, "come back"), (self.changed, "change"), (self.lost, "go"))
        what = ", ".join(f"{count} {how}" for count, how in parts if count)
        named = self.keys[:most]
        rest = f" (first {len(named)})" if self.count > len(named) > 0 else ""
        keys = f": {', '.join(named)}{rest}" if named else ""
        rows = max(self.before, self.after)
        return f"{self.table}: {self.count} of {rows} rows differ, {what}{keys}"


@dataclass(frozen=True, slots=True)
class Choice:
    """The tables of a rebuild.

    Attributes:
        tables: Silver table → its source table of today.
        left: Silver table → why it stays as it is.
    """

    tables: Mapping[str, TableIdentity]
    left: Mapping[str, str] = field(default_factory=dict)


def choose(cut: CutRow, rebuild: Rebuild, connector: str) -> Choice:
    """The tables that are rebuilt to a cut.

    Raises:
        StepFailed: A table that was asked for is unknown, or stays behind the cut, or none is left.
    """
    return granted(cut.source, candidates(cut, rebuild.tables, connector), rebuild)


def candidates(cut: CutRow, named: Sequence[str], connector: str) -> Choice:
    """The tables of a cut that may be made again.

    Args:
        cut: The cut.
        named: Source tables as the TOML file names them; none for all of the source.
        connector: Its name.

    Raises:
        StepFailed: A table that was named is unknown.
    """
    behind = excluded_of(cut)
    known = {
        name: TableIdentity.of(parts)
        for name, parts in identities_of(cut).items()
        if not RETIRED.search(name)
    }
    wanted = [_named(text, known, connector) for text in named] or sorted(known)
    left = {
        name: f"it is behind the cut: {behind[name].reason}" for name in wanted if name in behind
    }
    return Choice({name: known[name] for name in wanted if name not in left}, left)


def granted(source: str, choice: Choice, rebuild: Rebuild) -> Choice:
    """The choice, if a rebuild of it makes sense.

    Raises:
        StepFailed: A table that was asked for has to stay as it is, or every table.
    """
    if choice.left and (rebuild.tables or not choice.tables):
        told = "; ".join(f"{name}: {reason}" for name, reason in sorted(choice.left.items()))
        raise StepFailed(
            f"Source {source!r}: {told}: expected tables that today's TOML file and schema fit; "
            "nothing was replaced; see `lakehouse tables`, then do the rebuild again"
        )
    if not choice.tables:
        raise StepFailed(
            f"Source {source!r}: no table is published: expected some; "
            f"do `lakehouse run --source {source}` first"
        )
    return choice


def _named(text: str, known: Mapping[str, TableIdentity], connector: str) -> str:
    parts = parse_table(text, connector).parts(connector)
    found = [name for name, table in known.items() if table.parts(connector) == parts]
    if found:
        return found[0]
    there = ", ".join(sorted(format_table(table, connector) for table in known.values()))
    raise StepFailed(
        f"Table {text!r}: not in the newest cut: expected one of {there or 'none yet'}"
    )


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


def rebuild_to_undo(source: str, cuts: Iterable[CutRow]) -> tuple[CutRow, CutRow | None]:
    """The newest cut of a rebuild, and the one before it.

    Args:
        source: Its name.
        cuts: The published ones, oldest first.

    Raises:
        StepFailed: None is recorded.
    """
    before: CutRow | None = None
    found: tuple[CutRow, CutRow | None] | None = None
    for cut in cuts:
        if replaced_of(cut):
            found = (cut, before)
        before = cut
    if found is None:
        raise StepFailed(
            f"Source {source!r}: no rebuild is published: expected one that can be undone"
        )
    return found
