"""The bronze table of a source: raw messages as received, and how far its topics are landed.

In: a source. Out: its table, the landed offsets that a ref of it carries.
The landed offsets travel as a property of the snapshot that added the messages. Snapshots of
maintenance may lack it, and expiry may remove the last one that has it: then they are derived
from the messages themselves.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.names import bronze_table
from lakehouse.plan.batches.tables import MAIN
from lakehouse.plan.records import RunRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.spark.bronze.schema import PARTITIONING, PROPERTIES, SCHEMA
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import is_in_main, load_metadata, refs
from lakehouse.spark.tables import create_table, full_name

OFFSETS_PROPERTY = "lakehouse.offsets"
BATCH_ID_PROPERTY = "lakehouse.batch_id"
RUN_ID_PROPERTY = "lakehouse.run_id"


@dataclass(frozen=True, slots=True)
class Bronze:
    """The bronze table of one source."""

    source: str
    ledger: Ledger

    @property
    def table(self) -> str:
        """Namespace and name."""
        return bronze_table(self.source)

    def create(self, spark: SparkSession) -> None:
        """Create the table unless it is there."""
        if load_metadata(self.ledger.catalog, self.table) is None:
            create_table(spark, self.table, SCHEMA, PROPERTIES, PARTITIONING)

    def head(self, ref: str = MAIN) -> int | None:
        """The snapshot id of a ref; None when it has none."""
        return refs(self.ledger.catalog, self.table).get(ref)

    def holds(self, snapshot_id: int) -> bool:
        """Whether `main` has the snapshot, as its head or before it."""
        return is_in_main(self.ledger.catalog, self.table, snapshot_id)

    def landed(self, spark: SparkSession, ref: str = MAIN) -> LandedOffsets:
        """The landed offsets of a ref.

        Args:
            spark: Used only when no snapshot of the ref carries them.
            ref: A branch or tag.
        """
        recorded = self.recorded(ref)
        return self._derived(spark, ref) if recorded is None else recorded

    def recorded(self, ref: str = MAIN) -> LandedOffsets | None:
        """The landed offsets as commits carry them; None where none does.

        Args:
            ref: A branch or tag.
        """
        return _carried(self.ancestors(ref))

    def telling(self) -> int | None:
        """The newest snapshot of `main` whose commit carries the landed offsets; None for none."""
        carrying = (each for each in self.ancestors(MAIN) if carried_offsets(each) is not None)
        return next((each.snapshot_id for each in carrying), None)

    def before(self, snapshot_id: int) -> LandedOffsets | None:
        """The landed offsets before a snapshot, as commits carry them; None where none does."""
        metadata = load_metadata(self.ledger.catalog, self.table)
        snapshot = metadata.snapshot_by_id(snapshot_id) if metadata else None
        if metadata is None or snapshot is None:
            return None
        parent = snapshot.parent_snapshot_id
        if parent is not None and metadata.snapshot_by_id(parent) is None:
            return None
        return _carried(islice(ancestors_of(snapshot, metadata), 1, None))

    def messages(self, spark: SparkSession, ref: str = MAIN) -> DataFrame:
        """All messages of a ref."""
        return spark.table(full_name(self.table, None if ref == MAIN else ref))

    def messages_at(self, spark: SparkSession, snapshot_id: int) -> DataFrame:
        """All messages of a snapshot."""
        reader = spark.read.option("versionAsOf", snapshot_id)
        return reader.table(full_name(self.table))

    def _derived(self, spark: SparkSession, ref: str) -> LandedOffsets:
        """Next offsets from the messages; what has none comes from the newest landing's row."""
        rows = (
            self.messages(spark, ref)
            .groupBy("topic", "topic_id", "partition")
            .agg(F.max("offset").alias("last"), F.max("landed_at").alias("landed_at"))
            .collect()
        )
        newest: dict[str, tuple[datetime, str]] = {}
        found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for row in rows:
            newest[row["topic"]] = max(
                newest.get(row["topic"], (row["landed_at"], row["topic_id"])),
                (row["landed_at"], row["topic_id"]),
            )
            found[row["topic"], row["topic_id"]][row["partition"]] = row["last"] + 1
        topics = {
            topic: TopicProgress(topic_id, found[topic, topic_id])
            for topic, (_, topic_id) in newest.items()
        }
        return LandedOffsets(topics).merged(self._recorded())

    def _recorded(self) -> LandedOffsets:
        rows = [row for row in self.ledger.runs(self.source) if _is_landing(row)]
        if not rows:
            return LandedOffsets()
        return LandedOffsets.from_json(json.dumps(json.loads(rows[-1].detail)["offsets"]))

    def ancestors(self, ref: str = MAIN) -> Iterable[Snapshot]:
        """The snapshots of a ref that are not expired, newest first."""
        metadata = load_metadata(self.ledger.catalog, self.table)
        if metadata is None:
            return ()
        return ancestors_of(metadata.snapshot_by_name(ref), metadata)


def _carried(history: Iterable[Snapshot]) -> LandedOffsets | None:
    """The landed offsets of the newest snapshot that has them, of a history, newest first."""
    snapshot = None
    for snapshot in history:
        offsets = carried_offsets(snapshot)
        if offsets is not None:
            return offsets
    return LandedOffsets() if snapshot is None or _is_empty(snapshot) else None


def carried_offsets(snapshot: Snapshot) -> LandedOffsets | None:
    """The landed offsets that a commit carries; None where it carries none."""
    text = snapshot.summary.get(OFFSETS_PROPERTY) if snapshot.summary else None
    return None if text is None else LandedOffsets.from_json(text)


def _is_landing(row: RunRow) -> bool:
    return row.step == "land" and row.status == "succeeded" and "offsets" in json.loads(row.detail)


def _is_empty(snapshot: Snapshot) -> bool:
    """Whether it is what a branch of a table without messages starts from."""
    summary = snapshot.summary
    return summary is None or int(summary.get("total-records") or 0) == 0
