"""The rows of the control tables `quality.*`, as values.

Maps and lists that only this project reads are JSON text, so that every engine shows them.
Times are timezone-aware UTC.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from lakehouse.names import TableIdentity

Step = Literal["land", "check", "apply", "validate", "publish", "maintain"]
# Those of a run, in order; maintenance is a run of its own, which reports leave out.
STEPS: tuple[Step, ...] = ("land", "check", "apply", "validate", "publish")
MAINTAIN: Step = "maintain"
Status = Literal["succeeded", "failed", "superseded"]
Severity = Literal["critical", "warning", "info"]
# What becomes of a schema version: followed; followed as far as silver's columns stay as they are;
# the table stops before it.
EVOLVE, KEEP, HOLD = "evolve", "keep", "hold"
# Who decides where no person did.
POLICY = "policy"
# What a validation judges: the rows of a batch, or all of a published cut.
CHANGE, FULL = "change", "full"
# The fingerprint of a schema version that a statement told begins so.
DDL = "ddl:"
# Stands in the place of a statement that may quote a masked value.
WITHHELD = "withheld: the table has masked columns"
WITHHELD_CREATE = f"CREATE TABLE {WITHHELD}"


@dataclass(frozen=True, slots=True)
class RunRow:
    """One step of one run in `quality.runs`.

    Attributes:
        attempt: 1 for the first try of this step in this run.
        batch_id: Names the offsets that the step worked on; the same offsets give the same id.
        counts: JSON object; for `apply` the conservation counts of each topic partition.
        detail: JSON object with what the next step needs (branches, offsets, token).
        message: One sentence for a person; on failure the reason.
    """

    source: str
    run_id: str
    attempt: int
    step: str
    status: str
    started_at: datetime
    ended_at: datetime
    batch_id: str
    code_hash: str
    config_hash: str
    counts: str
    detail: str
    message: str


@dataclass(frozen=True, slots=True)
class CutRow:
    """One state of one cut in `quality.cuts`.

    Attributes:
        cut_id: Text whose order is the order of cuts.
        state: `pending` or `published`; a cut counts once it is published.
        offsets: JSON: topic → {"id", "partitions": {partition → first offset not in the cut}}.
        position: The highest source position in the cut; empty when there is none.
        tables: Silver table and state table (namespace and name) → Iceberg snapshot id.
        excluded: JSON: silver table → {"cut", "reason", "offsets"} for tables left behind.
        held_keys: How many keys wait for a quarantined event.
        identities: JSON: silver table → [database, schema, table] of its source table, and which
            incarnation of it, unless it is the first.
        renames: JSON: silver table → {"columns": [[old, new], …], "position", "dropped": [name]}.
        moves: JSON: [[old, new], …] of silver tables that got another name with this cut.
        held: JSON: silver table → how many of its keys wait for a quarantined event.
        epochs: JSON: where each new log of the source begins, and the GTIDs before it.
        replaced: JSON: Iceberg table → the snapshot of its `main` whose place its snapshot in the
            cut takes, whatever their histories; of rebuilt tables alone.
        stale: JSON: silver table → column → {"why", "since"}: older rows may differ in it from
            the source, which sent no event of them; see `lakehouse.plan.cuts.stale`.
    """

    source: str
    cut_id: str
    state: str
    run_id: str
    recorded_at: datetime
    token: int
    offsets: str
    position: str
    transactions: int
    tables: Mapping[str, int]
    excluded: str
    held_keys: int
    identities: str
    renames: str
    moves: str
    held: str = ""
    epochs: str = ""
    replaced: str = ""
    stale: str = ""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One expectation of one validation in `quality.results`.

    Attributes:
        run_started: With `run_id` it names one try: reprocessing reuses the run id.
        table: Silver table, bronze table or topic that was judged.
        cut: The cut that was validated, before it is published; empty when there is none.
        observed: JSON text of the observed value, never a row's value.
        samples: JSON list of rows that fail: [{"key", "messages": [[topic, partition, offset]]}],
            the key as silver has it; empty where none was looked for.
        scope: CHANGE or FULL; empty in rows from before it was told.
    """

    source: str
    run_id: str
    run_started: datetime
    suite: str
    table: str
    cut: str
    expectation: str
    description: str
    severity: str
    success: bool
    observed: str
    expected: str
    validated_at: datetime
    samples: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class SchemaVersionRow:
    """One version of one source table's schema in `quality.schema_versions`.

    Attributes:
        table: The silver table's name.
        identity: JSON list of the source's parts (database, schema, table).
        fingerprint: Names the schema text that the data events carry; begins with `ddl:` where a
            statement told the version.
        position: Where it starts to hold, as in `_cdc.position`; empty where unknown.
        ddl: The statement, where the source sends one.
        columns: JSON list of columns: name, type, optional, default.
        verdict: `evolve`, `keep` or `hold`.
        decision: Who decided: `policy` or a person.
        previous: The identity before, where the statement renames the table; else empty.
    """

    source: str
    run_id: str
    table: str
    identity: str
    fingerprint: str
    topic: str
    partition: int
    offset: int
    position: str
    ddl: str
    change_kinds: tuple[str, ...]
    columns: str
    verdict: str
    decision: str
    reason: str
    recorded_at: datetime
    previous: str

    @property
    def source_table(self) -> TableIdentity:
        """The table in the source."""
        return TableIdentity.of(json.loads(self.identity))

    @property
    def previous_table(self) -> TableIdentity | None:
        """The table that it was before, where the statement renames it."""
        return TableIdentity.of(json.loads(self.previous)) if self.previous else None

    @property
    def told(self) -> SchemaVersionRow:
        """The same for whoever recorded it, and whenever."""
        return replace(self, run_id="", recorded_at=datetime.min)  # noqa: DTZ901 - no time at all

    @property
    def is_from_ddl(self) -> bool:
        """Whether a statement told it; else data events did."""
        return self.fingerprint.startswith(DDL)


@dataclass(frozen=True, slots=True)
class QuarantineRow:
    """One message that could not be applied in `quality.quarantine`; no payload is copied.

    Attributes:
        table: The source table as TOML files write it; empty where the message names none.
    """

    source: str
    topic: str
    topic_id: str
    partition: int
    offset: int
    table: str
    reason: str
    detail: str
    state: str
    run_id: str
    recorded_at: datetime


Record = RunRow | CutRow | ResultRow | SchemaVersionRow | QuarantineRow


@dataclass(frozen=True, slots=True)
class ControlTable:
    """A control table, the type of its rows, and the column that says when one was made."""

    name: str
    row: type[Record] = field(repr=False)
    time: str


RUNS = ControlTable("quality.runs", RunRow, "ended_at")
CUTS = ControlTable("quality.cuts", CutRow, "recorded_at")
RESULTS = ControlTable("quality.results", ResultRow, "validated_at")
SCHEMA_VERSIONS = ControlTable("quality.schema_versions", SchemaVersionRow, "recorded_at")
QUARANTINE = ControlTable("quality.quarantine", QuarantineRow, "recorded_at")
CONTROL_TABLES = (RUNS, CUTS, RESULTS, SCHEMA_VERSIONS, QUARANTINE)
