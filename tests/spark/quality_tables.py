"""Small silver and bronze tables on which the metrics of validation are tried."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, RunRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.spark import branches, tables
from lakehouse.spark.bronze.schema import PARTITIONING, PROPERTIES, SCHEMA
from lakehouse.spark.staging.silver import PROPERTIES as SILVER_PROPERTIES

COLUMNS = (
    "id bigint, qty int, name string, photo binary, tags array<string>, "
    "_cdc struct<op:string, position:string, epoch:int, source_ts:timestamp, "
    "topic:string, partition:int, offset:bigint>"
)
BRANCH = "staging_test"
BASE_OFFSET, END_OFFSET = 100, 200
STARTED = datetime(2026, 1, 1, tzinfo=UTC)
# Messages whose time is missing, too late, too early.
ODD_TIMES = {150: None, 151: STARTED.replace(hour=2), 152: STARTED.replace(year=1999)}


@dataclass(frozen=True, slots=True)
class Row:
    """A silver row; `offset` from 100 on is in the batch."""

    id: int | None
    offset: int
    name: str | None = "n"
    photo: bytes | None = b"p"
    tags: tuple[str, ...] | None = ("t",)
    position: str | None = None
    op: str = "u"

    def values(self, topic: str) -> tuple[object, ...]:
        position = self.position if self.position is not None else f"{self.offset:010d}"
        cdc = (self.op, None if position == "" else position, 0, STARTED, topic, 0, self.offset)
        return (self.id, 1, self.name, self.photo, list(self.tags or ()), cdc)


def topic_of(source: str, table: str) -> str:
    return f"{source}.public.{table}"


def stage(
    spark: SparkSession,
    source: str,
    table: str,
    published: Sequence[Row],
    staged: Sequence[Row],
) -> StagedTable:
    """Publish rows on `main`, and stage on the branch: the same keys go, the new rows come."""
    name, topic = f"silver_{source}.public__{table}", topic_of(source, table)
    schema = spark.createDataFrame([], COLUMNS).schema
    tables.create_table(spark, name, schema, SILVER_PROPERTIES)

    def frame(rows: Sequence[Row]):
        return spark.createDataFrame([row.values(topic) for row in rows], schema).coalesce(1)

    branches.create_branch(spark, name, "loading")
    if published:
        tables.append_on_branch(frame(published), name, "loading")
        branches.fast_forward(spark, name, "loading")
    branches.create_branch(spark, name, BRANCH)
    changed = {row.id for row in staged if row.id is not None}
    if changed and published:
        keys = ", ".join(str(key) for key in sorted(changed))
        tables.delete_on_branch(spark, name, BRANCH, f"id IN ({keys})", {})
    if staged:
        tables.append_on_branch(frame(staged), name, BRANCH)
    rows = len({row.id for row in published} | changed)
    return StagedTable(
        identity=(None, "public", table),
        silver=name,
        state=f"{name}__state",
        changed=True,
        snapshot=head_of(spark, name, BRANCH),
        state_snapshot=None,
        key=("id",),
        cdc="_cdc",
        rows=rows,
        upserts=len(staged),
        deletes=0,
        truncated=False,
        required=("name",),
    )


def head_of(spark: SparkSession, table: str, ref: str) -> int | None:
    """The snapshot that a branch names; None where there is no such branch."""
    refs = spark.sql(f"SELECT snapshot_id FROM lakehouse.{table}.refs WHERE name = '{ref}'")
    return next((row[0] for row in refs.collect()), None)


def append_staged(spark: SparkSession, staged: StagedTable, row: Row) -> StagedTable:
    """One more row on the staging branch, behind apply's back."""
    schema = spark.createDataFrame([], COLUMNS).schema
    topic = staged.silver.replace("silver_", "").replace("__", ".")
    frame = spark.createDataFrame([row.values(topic)], schema)
    tables.append_on_branch(frame, staged.silver, BRANCH)
    return replace(staged, snapshot=head_of(spark, staged.silver, BRANCH))


def offsets(source: str, names: Sequence[str], offset: int) -> LandedOffsets:
    return LandedOffsets(
        {topic_of(source, name): TopicProgress(f"id-{name}", {0: offset}) for name in names}
    )


def cut_of(source: str, names: Sequence[str], staged: Sequence[StagedTable]) -> StagedCut:
    return StagedCut(
        branch=BRANCH,
        token=2,
        cut_id="00000002",
        base_cut="00000001",
        offsets=Progress(offsets(source, names, END_OFFSET)).to_json(),
        position="9999999999",
        transactions=1,
        tables=tuple(staged),
        excluded={},
    )


def base_of(
    spark: SparkSession, source: str, names: Sequence[str], staged: Sequence[StagedTable]
) -> CutRow:
    published = {each.silver: head_of(spark, each.silver, "main") for each in staged}
    return CutRow(
        source=source,
        cut_id="00000001",
        state="published",
        run_id="earlier",
        recorded_at=STARTED,
        token=1,
        offsets=Progress(offsets(source, names, BASE_OFFSET)).to_json(),
        position="0000000099",
        transactions=1,
        tables={each.silver: published[each.silver] or each.snapshot or 0 for each in staged},
        excluded="{}",
        held_keys=0,
        identities="{}",
        renames="{}",
        moves="[]",
    )


def land_row(source: str, names: Sequence[str], offset: int, run_id: str, minute: int) -> RunRow:
    counts = {"topics": {topic_of(source, name): {"0": 100} for name in names}}
    return RunRow(
        source=source,
        run_id=run_id,
        attempt=1,
        step="land",
        status="succeeded",
        started_at=STARTED.replace(minute=minute),
        ended_at=STARTED.replace(minute=minute, second=30),
        batch_id="b",
        code_hash="c",
        config_hash="c",
        counts=json.dumps(counts),
        detail=json.dumps({"offsets": json.loads(offsets(source, names, offset).to_json())}),
        message="",
    )


def run_row(source: str, step: str, run_id: str, detail: dict[str, object]) -> RunRow:
    return replace(
        land_row(source, (), 0, run_id, 9), step=step, detail=json.dumps(detail), counts="{}"
    )


def write_bronze(
    spark: SparkSession, source: str, messages: Sequence[tuple[str | None, int, int | None]]
) -> None:
    """Land messages (topic, partition, offset) of the run `run`."""
    name = f"bronze.{source}"
    tables.create_table(spark, name, SCHEMA, PROPERTIES, PARTITIONING)
    rows = [
        (
            topic,
            partition,
            offset,
            ODD_TIMES.get(offset or 0, STARTED),
            0,
            b"k",
            b"v",
            [],
            f"id-{topic.rpartition('.')[2]}" if topic else "id",
            STARTED.replace(minute=5, second=10),
            "run",
        )
        for topic, partition, offset in messages
    ]
    branch = f"landing_{len(messages)}"
    branches.create_branch(spark, name, branch)
    tables.append_on_branch(spark.createDataFrame(rows, SCHEMA).coalesce(1), name, branch)
    branches.fast_forward(spark, name, branch)
