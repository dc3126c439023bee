"""Step `check`: which schemas landed, what changed in them, and which tables have to wait.

In: bronze from the newest published cut on. Out: new rows of `quality.schema_versions`, from data
events and from what statements did, results of the suites that judge schemas, and in the step's
detail the verdict of each table: evolve, or hold from an offset on. It changes no table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import table_groups
from lakehouse.plan.cuts.published import published_names
from lakehouse.plan.progress import messages_between
from lakehouse.plan.records import HOLD, RESULTS, SCHEMA_VERSIONS, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations
from lakehouse.plan.schemas.table_names import table_names
from lakehouse.quality.engine import preload
from lakehouse.quality.judgement import Finding, Verdict, verdict_of
from lakehouse.quality.measuring.results import Try, alarms, result_rows
from lakehouse.quality.measuring.samples import schema_change_samples
from lakehouse.quality.schemas.crosscheck import differences
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.quality.schemas.silent_statements import silent_statements
from lakehouse.quality.schemas.statements import as_renamed, incarnations, told
from lakehouse.quality.schemas.unseen import unseen_tables
from lakehouse.quality.schemas.version_rows import (
    LandedSchemas,
    data_rows,
    ddl_rows,
)
from lakehouse.quality.schemas.versions import Judged, batch_versions
from lakehouse.spark.batches.incarnations import with_incarnations
from lakehouse.spark.batches.profile import load_schemas, profile
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.ordering.since import since_cut
from lakehouse.steps.context import Json, StepContext, StepOutcome
from lakehouse.steps.schema_events import Landed, read_statements
from lakehouse.steps.schema_suites import judge_schemas


def run(context: StepContext) -> StepOutcome:
    """Judge what landed.

    Raises:
        StepFailed: The schema change topic is larger than any that a source has.
    """
    landed = _read(context)
    rows = (*data_rows(context.source, context.run_id, landed), *landed.told)
    # Two runs may check at once; a run waits for others where it applies.
    there = {row.told for row in context.ledger.schema_versions(context.source.name)}
    context.ledger.append(SCHEMA_VERSIONS, [row for row in rows if row.told not in there])
    findings = judge_schemas(context, landed, rows)
    of = Try(context.source.name, context.run_id, context.run_started, "")
    samples = schema_change_samples(landed.events)
    context.ledger.append(RESULTS, result_rows(of, findings, landed.now, samples))
    name, connector = context.source.name, context.source.connector
    sentences = (
        *unseen_tables(context.source, (*landed.recorded, *rows)),
        *silent_statements(name, connector, landed.events),
    )
    return _outcome(landed, rows, findings, sentences)


def _read(context: StepContext) -> LandedSchemas:
    """Parse the batch; `apply` takes what is parsed."""
    source, spark = context.source, context.spark
    connector = CONNECTORS[source.connector]
    cut = context.ledger.newest_cut(source.name)
    since = since_cut(spark, source, cut, Incarnations())
    bronze = Bronze(source.name, context.ledger)
    end = bronze.landed(spark)
    recorded = context.ledger.schema_versions(source.name)
    if not end.topics:
        return LandedSchemas({}, {}, (), recorded)
    if messages_between(since.progress, end):
        # Validation needs it soon; check itself only where schema change events landed.
        preload()
    parsed = context.parsed.read(spark, source, since, bronze, end)
    followed, groups = parsed.followed, parsed.groups
    envelopes = followed.envelopes
    beside = Landed(groups, recorded, end, followed.since.epochs)
    statements = read_statements(context, envelopes, beside)
    source = as_renamed(source, recorded)
    new_rows = ddl_rows(source, context.run_id, statements.told, recorded)
    lives = incarnations((*recorded, *new_rows), connector.name)
    source = as_renamed(context.source, (*recorded, *new_rows))
    if lives.ends or lives.turns or (lives.retyped() and any(group.bare for group in groups)):
        envelopes = with_incarnations(envelopes, connector, lives)
        groups = profile(envelopes)
    mine = table_groups(groups, source)
    versions = batch_versions(mine, load_schemas(parsed.samples, envelopes, mine, source, lives))
    names = table_names(
        versions,
        source.connector,
        configured=source.configured_names(),
        published=published_names(cut),
        incarnations=lives,
    )
    by_table = _by_table(recorded, lives, source.connector)
    every = (*recorded, *new_rows)
    by_statement = told(every, connector.name, lives)
    tables = {
        table: judge_versions(
            mine,
            by_table.get(table, ()),
            source.schema_changes_of(table),
            by_statement.get((table.parts(connector.name), table.incarnation)),
        )
        for table, mine in versions.items()
    }
    unlike = tuple(
        f"{names.final[each.table]} is not as statements told from position {each.position} on: "
        f"{each.text}"
        for each in differences(source, tables, every, lives)
    )
    return LandedSchemas(
        tables,
        names.final,
        statements.sent,
        recorded,
        new_rows,
        unlike,
        groups,
        history=statements.history,
    )


def _by_table(
    rows: Iterable[SchemaVersionRow], lives: Incarnations, connector: str
) -> dict[TableIdentity, list[SchemaVersionRow]]:
    """Versions from data events by table, oldest first."""
    found: dict[TableIdentity, list[SchemaVersionRow]] = {}
    for row in rows:
        if not row.is_from_ddl:
            found.setdefault(lives.today(row.source_table, connector), []).append(row)
    return found


def _outcome(
    landed: LandedSchemas,
    rows: Sequence[SchemaVersionRow],
    findings: Sequence[Finding],
    sentences: Sequence[str],
) -> StepOutcome:
    held = {
        landed.names[identity]: _held(versions[-1])
        for identity, versions in landed.tables.items()
        if versions[-1].verdict == HOLD
    }
    verdict = verdict_of(findings)
    bad = [finding for finding in findings if finding.verdict is not Verdict.PASSED]
    tables = {
        landed.names[identity]: _judged(identity, versions)
        for identity, versions in landed.tables.items()
    }
    likely = tuple(
        f"{landed.names[identity]}: column {was!r} may have become {name!r}"
        for identity, versions in landed.tables.items()
        for judged in versions
        if judged.is_new and judged.verdict != HOLD
        for was, name in judged.pairs
    )
    parts = [f"{len(rows)} new schema versions of {len({row.table for row in rows})} tables"]
    parts += [f"{name} is held: {entry['reason']}" for name, entry in held.items()]
    waiting = [row for row in landed.told if row.verdict == HOLD and row.table not in held]
    parts += [f"{row.table} stops at a statement: {row.reason}" for row in waiting]
    parts += [*likely, *landed.unlike, *sentences]
    parts += [f"{f.rule.name} of {f.subject} failed" for f in bad]
    return StepOutcome(
        message="; ".join(parts),
        counts={
            "schema_versions": len(rows),
            "schema_change_events": len(landed.events),
            "tables_held": len(held),
        },
        detail={
            "tables": tables,
            "held": held,
            "verdict": verdict.value,
            "alarms": alarms(findings),
            "likely_renames": likely,
            "unlike": landed.unlike,
        },
        exit_code=max(verdict.exit_code, 1 if held or waiting or landed.unlike else 0),
    )


def _judged(identity: TableIdentity, versions: Sequence[Judged]) -> Json:
    kinds = {kind for judged in versions if judged.is_new for kind in judged.kinds}
    return {
        "identity": identity.members,
        "verdict": versions[-1].verdict,
        "kinds": tuple(sorted(kinds)),
    }


def _held(judged: Judged) -> dict[str, Json]:
    return {
        "fingerprint": str(judged.version.fingerprint),
        "kinds": list(judged.kinds),
        "reason": judged.reason,
        "from": [
            {"topic": topic, "partition": partition, "offset": offset}
            for topic, partition, offset in judged.version.first
        ],
    }
