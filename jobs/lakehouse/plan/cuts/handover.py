"""What `apply` leaves for `validate` and `publish`, as values and as the JSON of `quality.runs`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from lakehouse.names import RETIRED
from lakehouse.plan.batches.tables import Place
from lakehouse.plan.cuts.published import Excluded, Renaming, held_of, renames_of
from lakehouse.plan.cuts.stale import StaleColumns, parsed
from lakehouse.plan.records import CutRow


@dataclass(frozen=True, slots=True)
class StagedTable:
    """One silver table of a staged cut.

    Attributes:
        identity: `TableIdentity.members` of the source table.
        changed: Whether the staging branch differs from `main`.
        snapshot: Iceberg snapshot of the table in the cut.
        state_snapshot: The same for its state table.
        rows: Live rows in the table at the cut.
        unresolved: Column → rows whose unchanged large value was nowhere to be found.
        required: Columns that the source declares not null.
        topics: The topics with its events in the batch.
        history: Its table of versions; empty where none is kept.
        history_snapshot: The same for its table of versions.
        held: How many of its keys wait for a quarantined event.
        replayed: In a replay, where the events stand that it applies.
        soft: Whether deleted rows may stay in it.
    """

    identity: tuple[str | int | None, ...]
    silver: str
    state: str
    changed: bool
    snapshot: int | None
    state_snapshot: int | None
    key: tuple[str, ...]
    cdc: str
    rows: int
    upserts: int
    deletes: int
    truncated: bool
    unresolved: Mapping[str, int] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    history: str = ""
    history_snapshot: int | None = None
    held: int = 0
    replayed: tuple[Place, ...] = ()
    soft: bool = True

    @property
    def own_tables(self) -> tuple[str, ...]:
        """The Iceberg tables that belong to it."""
        return tuple(name for name in (self.silver, self.state, self.history) if name)

    @property
    def snapshots(self) -> dict[str, int]:
        """Each Iceberg table that belongs to it and has a snapshot → its snapshot in the cut."""
        found = {
            self.silver: self.snapshot,
            self.state: self.state_snapshot,
            self.history: self.history_snapshot,
        }
        return {name: snapshot for name, snapshot in found.items() if snapshot is not None}


@dataclass(frozen=True, slots=True)
class StagedCut:
    """A cut that is staged and not published.

    Attributes:
        branch: The staging branch of every changed table and its state table.
        token: Fencing token under which it was staged.
        base_cut: The cut that it follows; empty for the first one.
        offsets: JSON text of the progress once it is published.
        tables: Every table of the source that silver has, changed or not.
        excluded: Silver table → why and where it stays behind.
        renames: Silver table → its columns that get other names, or go.
        moves: Silver tables that get another name, old and new one, in order.
        identities: Silver table, as it will be called → its source table of today.
        epochs: JSON text of the logs that the source has had.
        marks: Metric of the suite `transactions` → its count; empty where nobody looked.
        topics: `topic/partition` → metric of the suite `bronze` → its count, as the batch tells it.
        replaced: Iceberg table → the snapshot of `main` whose place the staged one takes, where
            the staged one was not made from it.
        stale: Silver table → columns in which its older rows may differ from the source; the
            tables that the batch looked at.
        strayed: Silver table → the published snapshot behind which another program wrote.
    """

    branch: str
    token: int
    cut_id: str
    base_cut: str
    offsets: str
    position: str
    transactions: int
    tables: tuple[StagedTable, ...]
    excluded: Mapping[str, Excluded]
    findings: tuple[str, ...] = ()
    renames: Mapping[str, Renaming] = field(default_factory=dict)
    moves: tuple[tuple[str, str], ...] = ()
    identities: Mapping[str, tuple[str | int | None, ...]] = field(default_factory=dict)
    epochs: str = ""
    marks: Mapping[str, int] = field(default_factory=dict)
    topics: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)
    stale: Mapping[str, StaleColumns] = field(default_factory=dict)
    strayed: Mapping[str, int] = field(default_factory=dict)

    def to_detail(self) -> dict[str, object]:
        """The cut as the JSON object that `quality.runs.detail` holds."""
        values: dict[str, object] = json.loads(json.dumps(asdict(self)))
        return values

    @staticmethod
    def from_detail(detail: str) -> StagedCut | None:
        """The cut in a run's detail; None when the step staged nothing."""
        values = json.loads(detail)
        if "branch" not in values:
            return None
        names = set(StagedCut.__dataclass_fields__)
        kept = {name: value for name, value in values.items() if name in names}
        kept["tables"] = tuple(_table(table) for table in values["tables"])
        kept["excluded"] = {name: Excluded(**e) for name, e in values["excluded"].items()}
        kept["findings"] = tuple(values["findings"])
        kept["renames"] = renames_of(json.dumps(values.get("renames", {})))
        kept["moves"] = tuple((was, name) for was, name in values.get("moves", ()))
        kept["identities"] = {
            n: tuple(members) for n, members in values.get("identities", {}).items()
        }
        kept["stale"] = parsed(values.get("stale", {}))
        return StagedCut(**kept)


def _table(values: Mapping[str, object]) -> StagedTable:
    lists = ("identity", "key", "required", "topics", "replayed")
    return StagedTable(
        **{n: tuple(v) if n in lists and isinstance(v, list) else v for n, v in values.items()}  # type: ignore[arg-type]
    )


def held_after(
    base: CutRow | None, staged: Iterable[StagedTable], moved: Mapping[str, str]
) -> dict[str, int]:
    """The held keys of a cut: of its staged tables as they are, of the others as they were.

    Args:
        base: The cut before it.
        staged: The tables that it publishes.
        moved: Old → new name of the tables that it moves. What is retired waits for nothing.
    """
    found = held_of(base) | {table.silver: table.held for table in staged}
    named = {moved.get(name, name): count for name, count in found.items()}
    return {name: n for name, n in sorted(named.items()) if n and not RETIRED.search(name)}
