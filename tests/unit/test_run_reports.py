"""The report of a run that stops: every step leaves one, and it says what was not validated."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from typing import Any, Never

import pytest

from lakehouse.config import Settings, parse_source
from lakehouse.plan.cuts.handover import StagedCut
from lakehouse.plan.cuts.published import Excluded
from lakehouse.plan.records import CUTS, RUNS, STEPS, CutRow, QuarantineRow, RunRow, Step
from lakehouse.quality.engine import preload
from lakehouse.quality.reports.report import MESSAGES_SHOWN
from lakehouse.quality.reports.report_files import write_report
from lakehouse.quality.reports.run_report import (
    quarantined_messages,
    run_report,
    steps_of,
    unchanged,
)
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute

BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = "silver_shop.public__orders"


@pytest.fixture(scope="module", autouse=True)
def judge_is_there() -> None:
    """A step imports it beside its work, where warnings of the import are errors of a test."""
    preload().join()


class BrokenLedger(Ledger):
    def schema_versions(self, source: str) -> Never:
        raise OSError(f"the versions of {source} cannot be read")


def context_of(no_spark: Any = None) -> StepContext:
    """A run whose every step fails: there is no Spark, no archive, and a table that is broken."""
    settings = Settings.from_environment()
    return StepContext(
        source=parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop"),
        settings=settings,
        spark=no_spark,
        ledger=BrokenLedger(settings),
        run_id="run",
        run_started=BEGUN,
        archive=settings.home / "no such archive",
    )


def succeeded(step: str, minute: int) -> RunRow:
    ended = BEGUN + timedelta(minutes=minute)
    detail = json.dumps({"run_started": BEGUN.isoformat()})
    return RunRow(
        "shop", "run", 1, step, "succeeded", BEGUN, ended, "", "", "", "{}", detail, f"did {step}"
    )


def set_aside(offset: int) -> QuarantineRow:
    return QuarantineRow(
        "shop",
        "shop.orders",
        "id",
        0,
        offset,
        "",
        "no_position",
        "<no number>",
        "open",
        "run",
        BEGUN,
    )


def published() -> CutRow:
    identities = json.dumps({ORDERS: [None, "public", "orders"]})
    return CutRow(
        "shop", "00000001", "published", "old", BEGUN, 1, "", "", 0, {ORDERS: 1}, "", 0,
        identities, "{}", "[]",
    )  # fmt: skip


def reports(settings: Settings) -> Path:
    return settings.home / "reports" / "shop"


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_stops_has_a_report_that_says_at_which_step(ledger: Ledger, step: Step) -> None:
    before = STEPS[: STEPS.index(step)]
    ledger.append(CUTS, [published()])
    ledger.append(RUNS, [succeeded(each, minute) for minute, each in enumerate(before)])
    context = context_of()

    with suppress(AttributeError, OSError):
        execute(step, context)

    folder = reports(context.settings)
    report = json.loads((folder / "latest" / "report.json").read_text(encoding="utf-8"))
    assert report["verdict"] == "error"
    assert [each["step"] for each in report["steps"]] == [*before, step]
    assert [each["status"] for each in report["steps"]] == ["succeeded"] * len(before) + ["failed"]
    assert f"{step} failed: " in report["message"]
    assert report["not_validated"] == ([] if step == "publish" else [ORDERS])
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert f"stopped at {step}" in page
    assert "public.orders" in page


def test_a_step_that_is_tried_again_counts_as_it_ended_last(ledger: Ledger) -> None:
    ledger.append(RUNS, [succeeded("land", 0), succeeded("check", 1)])
    context = context_of()
    execute("land", context)

    report = json.loads((reports(context.settings) / "run" / "report.json").read_text())

    assert [(each["step"], each["status"]) for each in report["steps"]] == [("land", "failed")]


@pytest.mark.parametrize(
    ("more", "steps"), [({}, STEPS), ({"branch": "b"}, ("land", "check", "apply"))]
)
def test_a_backfill_that_changes_nothing_leaves_what_its_run_has_published(more, steps) -> None:
    rows = [succeeded(each, minute) for minute, each in enumerate(STEPS)]
    again = replace(succeeded("apply", 6), detail=json.dumps({"backfill": {}, **more}))
    assert tuple(row.step for row in steps_of([*rows, again], "run")) == steps
    assert unchanged([*rows, again], "run") == (() if more else ("backfill: did apply",))


def test_a_run_that_leaves_a_key_behind_has_not_simply_passed() -> None:
    validated = replace(succeeded("validate", 3), detail=json.dumps({"verdict": "passed"}))
    published = replace(succeeded("publish", 4), counts=json.dumps({"held_keys": 2}))
    report = run_report((validated, published), ())
    held = "did validate; 2 keys are held (`lakehouse tables` says for what)"
    assert (report.verdict, report.message) == ("warning", held)


@pytest.mark.parametrize(
    ("count", "told"), [(1, "1 message is in quarantine"), (30, "30 messages are in quarantine")]
)
def test_a_run_that_sets_messages_aside_has_not_simply_passed_and_its_page_lists_them(count, told):
    validated = replace(succeeded("validate", 3), detail=json.dumps({"verdict": "passed"}))
    counts = json.dumps({"shop.orders/0": {"landed": 40, "quarantined": count}})
    applied = replace(succeeded("apply", 2), counts=counts)
    rows = [set_aside(offset) for offset in reversed(range(count))]
    again = replace(rows[0], state="replayed")

    report = replace(
        run_report((applied, validated), ()), quarantine=quarantined_messages([*rows, again])
    )
    page = write_report(Settings.from_environment().home, report).read_text(encoding="utf-8")

    listed = f"did validate; {told} (`lakehouse report` lists what waits there)"
    assert (report.verdict, report.message) == ("warning", listed)
    shown = min(count, MESSAGES_SHOWN)
    assert [message.at[2] for message in report.quarantine] == list(range(shown))
    assert page.count("<code><bdi>no_position</bdi></code>") == shown
    assert ("… and 10 more" in page) is (count == 30)
    assert escape("<no number>") in page


def test_pages_that_cannot_be_written_fail_no_step(ledger: Ledger) -> None:
    context = context_of()
    (context.settings.home / "reports").write_text("no folder", encoding="utf-8")

    outcome = execute("land", context)

    assert "no such archive" in outcome.message
    (row,) = ledger.runs("shop")
    assert row.status == "failed"


def test_what_apply_found_is_in_the_report_and_harms_nothing() -> None:
    told = ("silver_shop.public__orders: 1 rows were not read", "<script>alert(1)</script>")
    cut = StagedCut("b", 1, "00000001", "", "", "", 0, (), {}, findings=told)
    applied = replace(succeeded("apply", 2), detail=json.dumps(cut.to_detail()))
    left = json.dumps({"verdict": "passed", "not_judged": {"public.orders": ["a key: masked"]}})
    validated = replace(succeeded("validate", 3), detail=left)
    report = run_report((succeeded("land", 0), succeeded("check", 1), applied, validated), ())

    page = write_report(Settings.from_environment().home, report).read_text(encoding="utf-8")

    assert report.notes == (*told, "public.orders: not judged: a key: masked")
    assert told[0] in page
    assert told[1] not in page
    assert escape(told[1]) in page


def test_a_run_that_leaves_a_table_behind_has_not_simply_passed() -> None:
    behind = {ORDERS: Excluded("", "held: approve it", "{}")}
    cut = StagedCut("b", 1, "00000001", "", "", "", 0, (), behind)
    applied = replace(succeeded("apply", 2), detail=json.dumps(cut.to_detail()))
    validated = replace(succeeded("validate", 3), detail=json.dumps({"verdict": "passed"}))
    report = run_report((succeeded("land", 0), succeeded("check", 1), applied, validated), ())
    waits = "did validate; 1 table waits (`lakehouse tables` says for what)"
    assert (report.verdict, report.message) == ("warning", waits)


def test_a_full_validation_before_anything_is_published_fails_nobody_and_has_not_passed(
    ledger: Ledger,
) -> None:
    context = replace(context_of(), ledger=ledger, run_id="full__run", full=True)

    outcome = execute("validate", context)

    assert (outcome.status, outcome.exit_code) == ("succeeded", 0)
    assert outcome.message.startswith("no data: nothing of source 'shop' is published yet")
    report = json.loads((reports(context.settings) / "full__run" / "report.json").read_text())
    assert (report["verdict"], report["message"]) == ("no data", outcome.message)
