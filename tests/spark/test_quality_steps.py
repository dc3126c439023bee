"""The steps check and validate in whole runs: recorded, judged, reported, held, never skipped."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import RESULTS, RUNS, SCHEMA_VERSIONS, STEPS
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.summary import summarise_validation
from lakehouse.quality.reports.table_states import list_tables
from lakehouse.spark.altering import rename_table
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import StepContext, StepOutcome
from lakehouse.steps.runner import execute
from tests.spark.quality_tables import run_row
from tests.support.binlog import MariaDb
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs


def orders() -> Table:
    return Table("orders", [column("id", "int32", optional=False), column("name", "string")])


def context_of(
    spark: SparkSession, settings: Settings, name: str, archive: Path | None = None
) -> StepContext:
    return StepContext(
        source=parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name),
        settings=settings,
        spark=spark,
        ledger=Ledger(settings),
        run_id=f"run_{uuid.uuid4().hex[:8]}",
        run_started=datetime.now(UTC),
        archive=archive,
    )


def run_all(context: StepContext) -> dict[str, StepOutcome]:
    return {step: execute(step, context) for step in STEPS}


def test_a_run_is_judged_recorded_and_reported(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qone"), orders()
    source.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    source.transact((table, "u", {"id": 1, "name": "a"}, {"id": 1, "name": "c"}))
    context = context_of(spark, settings, "qone", source.archive(tmp_path / "one"))

    outcomes = run_all(context)

    silver = "silver_qone.public__orders"
    assert [outcome.status for outcome in outcomes.values()] == ["succeeded"] * 5
    assert outcomes["validate"].detail["verdicts"] == {silver: "passed"}
    assert outcomes["validate"].exit_code == 0
    results = context.ledger.rows(RESULTS, source="qone")
    assert {row.suite for row in results} == {"silver", "bronze", "transactions"}
    assert all(row.success for row in results)
    versions = context.ledger.rows(SCHEMA_VERSIONS, source="qone")
    assert [(row.table, row.change_kinds) for row in versions] == [
        ("public__orders", ("create_table",))
    ]
    page = Path(str(outcomes["validate"].detail["report"]))
    assert "passed" in page.read_text(encoding="utf-8")
    assert (page.parents[1] / "docs" / "index.html").is_file()
    summary = summarise_validation(context.ledger, "qone", None)
    assert (summary.verdict, summary.verdicts) == (Verdict.PASSED, {silver: "passed"})
    assert summary.conservation["landed"] > 0
    (state,) = list_tables(context.ledger, "qone", context.source.connector, None)
    assert (state.silver, state.state, state.cut_id) == (silver, "live", summary.cut_id)

    whole = replace(context, run_id="full__qone", full=True)
    full = execute("validate", whole)

    assert (full.detail["verdict"], full.detail["scope"]) == ("passed", "full")
    assert full.detail["verdicts"] == {silver: "passed"}
    found = context.ledger.rows(RESULTS, source="qone", run_id="full__qone")
    assert {(row.suite, row.scope, row.cut) for row in found} == {
        ("silver", "full", summary.cut_id)
    }
    counts = {row.expectation: json.loads(row.observed) for row in found}
    assert counts["row_count_equals_rows_expected"] == {"row_count": 2, "rows_expected": 2}
    assert "changed_rows_equals_upserts" not in counts
    assert (settings.home / "reports" / "qone" / "full__qone" / "index.html").is_file()
    assert summarise_validation(context.ledger, "qone", summary.cut_id).run_id == context.run_id
    mixed = execute("validate", replace(context, full=True))
    assert mixed.status == "failed"
    assert "a run id of its own" in mixed.message

    again = run_all(context_of(spark, settings, "qone", tmp_path / "one"))

    assert again["validate"].detail["verdict"] == "no data"
    assert again["check"].counts["schema_versions"] == 0
    assert len(context.ledger.rows(SCHEMA_VERSIONS, source="qone")) == 1


def test_what_a_run_landed_that_went_no_further_is_judged_by_the_one_that_applies_it(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qleft"), orders()
    source.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    left = context_of(spark, settings, "qleft", source.archive(tmp_path / "left"))
    landed = execute("land", left)
    assert landed.counts["messages"] == 2

    context = context_of(spark, settings, "qleft", tmp_path / "left")
    outcomes = run_all(context)

    assert outcomes["land"].counts["messages"] == 0
    found = context.ledger.rows(RESULTS, source="qleft", run_id=context.run_id, suite="bronze")
    observed = {row.expectation: json.loads(row.observed) for row in found}
    assert observed["messages_equals_messages_landed"] == {"messages": 2, "messages_landed": 2}
    assert all(row.success for row in found)

    idle = context_of(spark, settings, "qleft", tmp_path / "left")
    run_all(idle)
    assert context.ledger.rows(RESULTS, source="qleft", run_id=idle.run_id, suite="bronze") == []


def test_a_published_run_is_judged_again_as_it_was(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qagain"), orders()
    other = Table("parts", [column("id", "int32", optional=False)])
    source.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    source.snapshot(other, [{"id": 1}])
    first = context_of(spark, settings, "qagain", source.archive(tmp_path / "one"))
    judged = [run_all(first)["validate"]]
    table.columns.append(column("age", "int32"))
    source.transact((table, "u", {"id": 1, "name": "a", "age": 3}, {"id": 1, "name": "", "age": 4}))
    second = context_of(spark, settings, "qagain", source.archive(tmp_path / "two"))
    judged.append(run_all(second)["validate"])

    # The staging branches are gone; a later try of a run starts at another time.
    later = [replace(each, run_started=datetime.now(UTC)) for each in (first, second)]
    again = [execute("validate", each) for each in later]

    assert [each.detail["verdict"] for each in again] == ["passed", "passed"]
    assert [each.message for each in again] == [each.message for each in judged]
    assert execute("publish", later[1]).status == "succeeded"

    rename_table(spark, "silver_qagain.public__orders", "silver_qagain.elsewhere")
    gone = execute("validate", later[1])

    assert gone.status == "failed"
    assert "'silver_qagain.public__orders' has not, or no more, the snapshot" in gone.message
    assert "lakehouse validate --source qagain --full" in gone.message


def test_a_table_that_is_refused_says_which_expectation_and_which_rows(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qgate"), orders()
    other = Table("parts", [column("id", "int32", optional=False)])
    source.snapshot(table, [{"id": 1, "name": "a"}, {"id": 2, "name": "bad"}])
    source.snapshot(other, [{"id": 1}])
    rule = 'name = "no_bad"\ndescription = "A."\nviolated = "name = \'bad\'"\nseverity = "critical"'
    text = f'[[tables."public.orders".rules]]\n{rule}\n'
    context = context_of(spark, settings, "qgate", source.archive(tmp_path / "gate"))
    toml = f'connector = "postgresql"\ntopic_prefix = "qgate"\n{text}'
    gated = replace(context, source=parse_source(toml, "qgate"))

    published = run_all(gated)["publish"]

    silver = "silver_qgate.public__orders"
    said = (
        "no_bad: rule_no_bad = 1, rule_no_bad_note = rows with name = 'bad' (expected ≤ 0 rows), "
        'rows {"id":2}'
    )
    assert published.counts["tables_refused"] == 1
    assert published.message.startswith("cut 00000001 published: 1 tables changed, ")
    assert published.message.endswith(f"; {silver} is refused: validation keeps it back: {said}")
    (excluded,) = published.detail["excluded"].values()
    assert excluded["reason"] == f"validation keeps it back: {said}"
    states = {s.silver: s.state for s in list_tables(gated.ledger, "qgate", "postgresql", None)}
    assert states == {silver: "held", "silver_qgate.public__parts": "live"}


def test_a_critical_finding_about_a_topic_is_told_by_the_step_that_publishes(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = MariaDb("qalarm"), orders()
    source.define(table, "CREATE")
    source.commit((table, "c", None, {"id": 1, "name": "a"}))
    source.send_raw("qalarm", None, '{"source": 1}')
    toml = 'connector = "mariadb"\ntopic_prefix = "qalarm"\n'
    context = context_of(spark, settings, "qalarm", source.archive(tmp_path / "alarm"))

    outcomes = run_all(replace(context, source=parse_source(toml, "qalarm")))

    published = outcomes["publish"]
    assert (published.status, published.exit_code) == ("succeeded", 2)
    assert (published.counts["tables_changed"], published.counts["alarms"]) == (1, 1)
    said = "; critical: schema_changes: no_malformed_records of qalarm: malformed_records = 1, "
    assert said in published.message


def test_a_topic_of_which_most_is_set_aside_is_told_by_the_step_that_publishes(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qaside"), orders()
    source.snapshot(table, [{"id": key, "name": "a"} for key in range(20)])
    for number in range(101):
        source.send_raw("qaside.public.orders", f'{{"id": {100 + number}}}', '{"op": "c"}')
    context = context_of(spark, settings, "qaside", source.archive(tmp_path / "aside"))

    published = run_all(context)["publish"]

    assert (published.status, published.exit_code) == ("succeeded", 2)
    assert (published.counts["tables_changed"], published.counts["alarms"]) == (1, 1)
    said = (
        "; critical: quarantine: quarantined_within_quarantine_limit of qaside.public.orders/0: "
        "quarantined = 101, quarantine_limit = 100 (expected ≤ quarantine_limit)"
    )
    assert said in published.message


def test_a_lost_tombstone_and_a_large_message_are_told(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qlost"), orders()
    rows: list[dict[str, object]] = [{"id": key, "name": "a"} for key in range(4)]
    source.snapshot(table, rows)
    source.transact(*((table, "d", row, None) for row in rows[:2]))
    source.transact((table, "u", rows[2], {"id": 2, "name": "x" * 8_000_001}))
    lost = next(each for each in source.messages if each["value"] is None)
    source.messages.remove(lost)
    context = context_of(spark, settings, "qlost", source.archive(tmp_path / "one"))

    outcomes = run_all(context)

    assert outcomes["publish"].status == "succeeded"
    results = context.ledger.rows(RESULTS, source="qlost", suite="bronze")
    mine = [row for row in results if row.table == "qlost.public.orders/0"]
    assert {row.expectation for row in mine if not row.success} == {
        "no_deletes_without_tombstone",
        "no_large_messages",
        "no_missing_offsets",
    }
    (large,) = (row for row in mine if row.expectation == "no_large_messages")
    assert f'"{lost["topic"]}", 0, 8]' in large.samples


def test_an_added_column_is_recorded_and_a_changed_type_holds_its_table(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    source, table = Postgres("qtwo"), orders()
    source.snapshot(table, [{"id": 1, "name": "a"}])
    table.columns.append(column("age", "int32"))
    source.transact((table, "c", None, {"id": 2, "name": "b", "age": 3}))
    table.columns[1] = column("name", "int32")
    source.transact((table, "c", None, {"id": 3, "name": 7, "age": 3}))
    context = context_of(spark, settings, "qtwo", source.archive(tmp_path / "two"))

    outcome = execute("land", context) and execute("check", context)

    assert outcome.status == "succeeded"
    held = outcome.detail["held"]["public__orders"]
    assert held["reason"] == "silver cannot follow: change_type (name string → int)"
    assert held["from"] == [{"topic": "qtwo.public.orders", "partition": 0, "offset": 2}]
    rows = sorted(context.ledger.rows(SCHEMA_VERSIONS, source="qtwo"), key=lambda r: r.offset)
    assert [(row.change_kinds, row.verdict) for row in rows] == [
        (("create_table",), "evolve"),
        (("add_column",), "evolve"),
        (("change_type",), "hold"),
    ]


def test_without_a_staged_cut_nothing_is_validated_and_the_report_says_so(
    spark: SparkSession, settings: Settings
) -> None:
    context = context_of(spark, settings, "qthree")

    outcome = execute("validate", context)

    assert outcome.status == "failed"
    assert "no row of apply" in outcome.message
    report = settings.home / "reports" / "qthree" / "latest" / "report.json"
    assert json.loads(report.read_text(encoding="utf-8"))["verdict"] == "error"


def test_a_validation_that_crashes_is_an_error_and_never_passed(
    spark: SparkSession, settings: Settings
) -> None:
    context = context_of(spark, settings, "qfour")
    table = {
        "identity": [None, "public", "gone"],
        "silver": "silver_qfour.public__gone",
        "state": "silver_qfour.public__gone__state",
        "changed": True,
        "snapshot": 1,
        "state_snapshot": None,
        "key": ["id"],
        "cdc": "_cdc",
        "rows": 0,
        "upserts": 0,
        "deletes": 0,
        "truncated": False,
        "unresolved": {},
        "required": [],
    }
    detail: dict[str, object] = {
        "branch": "staging_gone",
        "token": 1,
        "cut_id": "00000001",
        "base_cut": "",
        "offsets": "{}",
        "position": "",
        "transactions": 0,
        "tables": [table],
        "excluded": {},
        "findings": [],
    }
    context.ledger.append(RUNS, [run_row("qfour", "apply", context.run_id, detail)])

    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        execute("validate", context)

    summary = summarise_validation(context.ledger, "qfour", None)
    assert summary.verdict is Verdict.ERROR
    assert re.match("not validated: validate failed", summary.message)
    assert summary.verdict.exit_code == 2


def test_foreign_keys_are_judged_in_each_batch_and_over_the_whole_cut(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    key = column("id", "int32", optional=False)
    parts, people = Table("parts", [key]), Table("people", [key, column("name", "string")])
    lines = Table("lines", [key, column("part", "int32")])
    source = MariaDb("qrefs")
    source.define(parts, "CREATE", "(id INT PRIMARY KEY)")
    source.define(people, "CREATE", "(id INT PRIMARY KEY, name TEXT)")
    source.define(lines, "CREATE", "(id INT PRIMARY KEY, part INT REFERENCES parts (id))")
    source.commit((parts, "c", None, {"id": 1}), (people, "c", None, {"id": 1, "name": "a"}))
    toml = 'connector = "mariadb"\ntopic_prefix = "qrefs"\n'
    toml += '[tables."public.people"]\ncolumns.name = { mask = "drop" }\n'
    runs = Runs(spark, settings, tmp_path, parse_source(toml, "qrefs"))

    def dangling(judged: StepOutcome, run_id: str) -> tuple[object, set[str]]:
        """How many rows refer to nothing, and their keys."""
        assert judged.status == "succeeded"
        rows = runs.ledger.rows(RESULTS, source="qrefs", run_id=run_id)
        (row,) = (each for each in rows if each.expectation == "no_dangling_references")
        found = json.loads(row.samples or "[]")
        return json.loads(row.observed)["dangling_references"], {each["key"] for each in found}

    def after(*rows: tuple[int, int | None]) -> tuple[object, set[str]]:
        """The next run, with rows of `lines`."""
        source.commit(*((lines, "c", None, {"id": n, "part": part}) for n, part in rows))
        context = runs.context(source.archive(tmp_path / str(rows[0][0])))
        outcomes = run_all(context)
        assert outcomes["publish"].status == "succeeded"
        if rows[0][0] == 1:
            (reason,) = outcomes["validate"].detail["not_judged"]["public.people"]
            assert reason.startswith("foreign keys: its statements are withheld")
        return dangling(outcomes["validate"], context.run_id)

    assert after((1, 1), (2, 9), (3, None)) == (1, {'{"id":2}'})
    # The other table stands as the cut before has it.
    assert after((4, 1), (5, 8)) == (1, {'{"id":5}'})
    full = replace(runs.context(run_id="full__qrefs"), full=True)
    assert dangling(execute("validate", full), "full__qrefs") == (2, {'{"id":2}', '{"id":5}'})
