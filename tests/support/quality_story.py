"""A source's runs, one after the other: steps, cuts, schema changes, quarantine."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import timedelta

from lakehouse.plan.batches.conservation import Law, to_json_counts
from lakehouse.plan.cuts.handover import StagedCut, StagedTable
from lakehouse.plan.cuts.lag import SourceLag, TableLag
from lakehouse.plan.records import STEPS, CutRow, QuarantineRow, ResultRow, RunRow, SchemaVersionRow
from tests.support.quality_records import EVERY, START, Run, Story, results, worst

# Which run stops at which step.
STOPPED = {11: "apply", 19: "publish"}
HELD_TABLE, HELD_KEYS_TABLE = 1, 2
FULL_DISK = "No space left on device: /var/lib/lakehouse/warehouse: free some and run it again"
HOLD = "silver cannot follow: change_type (amount decimal(9,2) → string)"
CHANGES = (
    ("add_column", "ALTER TABLE {t} ADD COLUMN note varchar(200) NULL COMMENT 'for the warehouse'"),
    ("widen_type", "ALTER TABLE {t} MODIFY quantity bigint NOT NULL"),
    ("change_type", "ALTER TABLE {t}\n  MODIFY amount varchar(40) NOT NULL,\n  ALGORITHM=COPY"),
)
Columns = list[dict[str, object]]


def story(
    source: str, *, tables: int = 7, runs: int = 30, say: Callable[[str], str] = str
) -> Story:
    """All rows of a source's runs."""
    told = Story(source, tables, runs, say)
    for number in range(runs):
        _run(Run(told, number, STOPPED.get(number, "")))
    for table in range(tables):
        _schemas(told, table)
    told.add("quarantine", *(_quarantined(told, offset) for offset in range(34)))
    return told


def _run(run: Run) -> None:
    found = [] if run.stopped == "apply" else results(run)
    run.told.add("results", *found)
    for step in STEPS:
        run.told.add("runs", _step(run, step, found))
        if step == run.stopped:
            return
    run.told.add("cuts", _cut(run))


def _step(run: Run, step: str, found: Sequence[ResultRow]) -> RunRow:
    started = run.begun + timedelta(seconds=9 * STEPS.index(step))  # type: ignore[arg-type]
    counts, detail, message = _outcome(run, step, found)
    failed = step == run.stopped
    return RunRow(
        source=run.told.source,
        run_id=run.id,
        attempt=1,
        step=step,
        status="failed" if failed else "succeeded",
        started_at=started,
        ended_at=started + timedelta(seconds=4 + run.told.dice.random() * 4),
        batch_id="",
        code_hash="",
        config_hash="",
        counts=json.dumps({} if failed else counts),
        detail=json.dumps({"run_started": run.begun.isoformat(), **({} if failed else detail)}),
        message=run.told.say(FULL_DISK if failed else message),
    )


def _outcome(
    run: Run, step: str, found: Sequence[ResultRow]
) -> tuple[object, dict[str, object], str]:
    """Counts, detail and sentence of a step that succeeds."""
    told, landed = run.told, sum(run.landed.values())
    if step == "land":
        sent = run.begun + timedelta(seconds=5)
        newest: dict[str, object] = {"newest_ms": round(sent.timestamp() * 1000)}
        return {"messages": landed}, newest, f"landed {landed} new messages of {told.tables} topics"
    if step == "apply":
        laws = {(told.topic(n), 0): _law(n, count) for n, count in run.landed.items()}
        applied = sum(law.applied for law in laws.values())
        sentence = f"{applied} events applied, {len(run.changed)} of {told.tables} tables changed"
        return to_json_counts(laws), _staged(run).to_detail(), sentence
    if step == "validate":
        silver = map(told.silver, run.changed)
        detail = {
            "verdict": worst(found),
            "verdicts": {table: worst(found, table) for table in silver},
            "cut_id": run.cut_id,
        }
        bad = sum(not row.success for row in found)
        judged = f"{len(found)} expectations on {len(run.changed)} changed tables"
        return {}, detail, f"{judged}: {bad or 'all'} {'failed' if bad else 'passed'}"
    if step == "publish":
        return {}, {"lag": _lag(run)}, f"cut {run.cut_id} published"
    return {}, {}, "nothing new in the schemas"


def _lag(run: Run) -> dict[str, object]:
    """What waits behind the cut: the events of the held table."""
    held, as_of = HELD_TABLE, run.begun + timedelta(seconds=45)
    began = as_of - timedelta(minutes=90)
    table = TableLag(f"shop.{run.told.name(held)}", run.told.silver(held), 15, began, as_of)
    lag = SourceLag(run.told.source, as_of, run.cut_id, 15, (table,), heartbeat=as_of)
    told: dict[str, object] = json.loads(lag.to_json())
    return told


def _law(table: int, landed: int) -> Law:
    held = landed // 4 if table == HELD_TABLE else 0
    return Law(landed=landed, applied=landed - 4 - held, superseded=1, control=3, held_table=held)


def _staged(run: Run) -> StagedCut:
    tables = tuple(
        StagedTable(
            identity=run.told.identity(n),
            silver=run.told.silver(n),
            state=f"{run.told.silver(n)}__state",
            changed=n in run.changed,
            snapshot=run.number,
            state_snapshot=None,
            key=("id",),
            cdc="_cdc",
            rows=900 * (n + 1) + run.number * (37 + n) - (120 if run.number % 9 == n else 0),
            upserts=40 + n if n in run.changed else 0,
            deletes=n if n in run.changed else 0,
            truncated=False,
        )
        for n in range(run.told.tables)
    )
    return StagedCut("b", 1, run.cut_id, "", "", "", 3, tables, {})


def _cut(run: Run) -> CutRow:
    told, numbers = run.told, range(run.told.tables)
    left = {"cut": f"{max(told.runs - 3, 1):08d}", "reason": told.say(HOLD), "offsets": ""}
    topics = {told.say(told.topic(n)): {"id": "t", "partitions": {"0": 10_000}} for n in numbers}
    is_held = run.number > told.runs - 4
    return CutRow(
        source=told.source,
        cut_id=run.cut_id,
        state="published",
        run_id=run.id,
        recorded_at=run.begun + timedelta(seconds=45),
        token=1,
        offsets=json.dumps(topics),
        position="",
        transactions=12,
        tables={told.silver(n): run.number for n in numbers},
        excluded=json.dumps({told.silver(HELD_TABLE): left} if is_held else {}),
        held_keys=2,
        identities=json.dumps({told.silver(n): told.identity(n) for n in numbers}),
        renames="{}",
        moves="[]",
        held=json.dumps({told.silver(HELD_KEYS_TABLE): 2}),
    )


def _schemas(told: Story, table: int) -> None:
    columns = [
        _column("id", "bigint", key=True),
        _column(told.say("amount"), "decimal(9,2)", default=told.say("0.00")),
        _column("quantity", "int"),
    ]
    created = f"CREATE TABLE {told.name(table)} (id bigint PRIMARY KEY, amount decimal(9,2), …)"
    _versions(told, table, 0, columns, ("create_table", created))
    changes = CHANGES if table == HELD_TABLE else CHANGES[: 1 + table % 2]
    for place, (kind, statement) in enumerate(changes):
        columns = _after(told, columns, kind)
        when = told.runs - 4 if kind == "change_type" else 5 + 4 * place + table % 5
        ddl = statement.format(t=f"shop.{told.name(table)}")
        _versions(told, table, when, columns, (kind, ddl))


def _column(
    name: str, kind: str, *, default: str | None = None, key: bool = False
) -> dict[str, object]:
    return {"name": name, "type": kind, "optional": not key, "default": default, "key": key}


def _after(told: Story, columns: Columns, kind: str) -> Columns:
    changed = [dict(column) for column in columns]
    if kind == "add_column":
        return [*changed, _column(told.say("note"), "string")]
    place, new = (2, "bigint") if kind == "widen_type" else (1, "string")
    changed[place]["type"] = new
    return changed


def _versions(told: Story, table: int, run: int, columns: Columns, change: tuple[str, str]) -> None:
    """What the statement says, and what the data events carry."""
    kind, ddl = change
    held = kind == "change_type"
    for of, verdict in (("ddl:", "evolve"), ("", "hold" if held else "evolve")):
        row = SchemaVersionRow(
            source=told.source,
            run_id="",
            table=told.silver(table).partition(".")[2],
            identity=json.dumps(told.identity(table)),
            fingerprint=f"{of}{100 * table + run}",
            topic=told.topic(table),
            partition=0,
            offset=run * 300,
            position=f"{run * 300:020}",
            ddl=told.say(ddl) if of else "",
            change_kinds=(kind,),
            columns=json.dumps(columns),
            verdict=verdict,
            decision="policy",
            reason=told.say(HOLD) if verdict == "hold" else "",
            recorded_at=START + run * EVERY + timedelta(seconds=10),
            previous="",
        )
        told.add("schema_versions", row)


def _quarantined(told: Story, offset: int) -> QuarantineRow:
    bad_value = offset < 27
    return QuarantineRow(
        source=told.source,
        topic=told.say(told.topic(HELD_KEYS_TABLE)),
        topic_id="t",
        partition=0,
        offset=8_000 + offset,
        table=told.say(told.name(HELD_KEYS_TABLE)),
        reason="bad_value" if bad_value else "wrong_topic",
        detail=told.say("columns price, added") if bad_value else "",
        state="open",
        run_id="",
        recorded_at=START + (offset % told.runs) * EVERY,
    )
