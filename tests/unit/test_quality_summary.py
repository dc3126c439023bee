"""The commands report and tables, from control tables alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from expectations import SUITES
from lakehouse.cli import app
from lakehouse.cli.tables import without_password
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import (
    CUTS,
    QUARANTINE,
    RESULTS,
    RUNS,
    SCHEMA_VERSIONS,
    CutRow,
    QuarantineRow,
    RunRow,
    SchemaVersionRow,
)
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.quality.judgement import Measurement, Verdict, judge
from lakehouse.quality.measuring.results import Try, result_rows
from lakehouse.quality.measuring.samples import FailingRow
from lakehouse.spark.control.ledger import Ledger
from tests.expectations.samples import GOOD

START = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS, ITEMS = "silver_shop.public__orders", "silver_shop.public__items"
WAITS = QuarantineRow(
    "shop", "shop.orders", "id", 0, 3, "orders", "bad_value", "columns n", "open", "old", START
)
LAW = {"landed": 7, "applied": 5, "control": 2, "pending_before": 0, "pending_after": 0}


def run_row(step: str, minute: int, detail: Mapping[str, object], **more: str) -> RunRow:
    values = {"status": "succeeded", "run_id": "run", "counts": "{}", "message": "a sentence"}
    values |= more
    return RunRow(
        source="shop",
        run_id=values["run_id"],
        attempt=1,
        step=step,
        status=values["status"],
        started_at=START + timedelta(minutes=minute),
        ended_at=START + timedelta(minutes=minute, seconds=30),
        batch_id="",
        code_hash="",
        config_hash="",
        counts=values["counts"],
        detail=json.dumps(detail),
        message=values["message"],
    )


def validated(ledger: Ledger, bad: Mapping[str, int]) -> None:
    """A validated run whose only table measured what is given over the good sample."""
    suite = SUITES["silver"]
    findings = judge(suite, [Measurement(ORDERS, GOOD["silver"] | bad, {})]).findings
    of = Try("shop", "run", START, "00000001")
    row = FailingRow('{"id":7}', (("shop.public.orders", 0, 17), ("shop.public.orders", 0, 20)))
    samples = {(ORDERS, "no_duplicate_keys"): (row,)} if "duplicate_keys" in bad else {}
    ledger.append(RESULTS, result_rows(of, findings, START + timedelta(minutes=2), samples))
    verdict = "failed" if "duplicate_keys" in bad else "warning" if bad else "passed"
    detail = {
        "verdict": verdict,
        "verdicts": {ORDERS: verdict},
        "cut_id": "00000001",
        "report": "/home/reports/shop/00000001/index.html",
    }
    law = json.dumps({"shop.public.orders[0]": LAW})
    ledger.append(RUNS, [run_row("apply", 1, {}, counts=law), run_row("validate", 2, detail)])


def lakehouse(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize(
    ("bad", "code", "says"),
    [
        ({}, 0, "passed"),
        ({"nulls_in_required": 1}, 1, "warning: silver.no_nulls_in_required of " + ORDERS),
        ({"duplicate_keys": 2}, 2, "critical: silver.no_duplicate_keys of " + ORDERS),
    ],
)
def test_report_prints_what_was_found_and_ends_by_the_verdict(
    ledger: Ledger, bad: Mapping[str, int], code: int, says: str
) -> None:
    validated(ledger, bad)

    result = lakehouse("report", "--source", "shop")

    assert result.exit_code == code
    assert says in result.output
    assert "landed 7" in result.output
    assert "reports/shop/00000001/index.html" in result.output


def test_report_names_the_rows_that_fail_and_how_their_messages_are_found(ledger: Ledger) -> None:
    validated(ledger, {"duplicate_keys": 2})

    printed = lakehouse("report", "--source", "shop").output
    document = json.loads(lakehouse("report", "--source", "shop", "--json").output)

    places = "shop.public.orders[0] offset 17, shop.public.orders[0] offset 20"
    assert f'  {{"id":7}}: {places}' in printed
    (query,) = [line for line in printed.splitlines() if line.startswith("  all their messages: ")]
    assert "AND offset IN (17, 20)" in query
    page = Path(document["report"]).read_text(encoding="utf-8")
    assert "{&#34;id&#34;:7}" in page
    (finding,) = [f for f in document["findings"] if f["samples"]]
    assert finding["samples"][0]["messages"] == [
        ["shop.public.orders", 0, 17],
        ["shop.public.orders", 0, 20],
    ]


def test_report_as_json_has_every_finding(ledger: Ledger) -> None:
    validated(ledger, {"duplicate_keys": 2})

    result = lakehouse("report", "--source", "shop", "--cut", "00000001", "--json")

    document = json.loads(result.output)
    assert document["verdict"] == Verdict.FAILED.value
    assert len(document["findings"]) == len(SUITES["silver"].rules)
    failed = [f for f in document["findings"] if not f["success"]]
    assert [f["observed"] for f in failed] == [{"duplicate_keys": 2}]
    assert document["conservation"] == LAW


def test_a_run_that_failed_before_validation_is_an_error_with_its_step(ledger: Ledger) -> None:
    validated(ledger, {})
    later = run_row("apply", 9, {}, status="failed", run_id="later", message="disk full")
    ledger.append(RUNS, [later])

    result = lakehouse("report", "--source", "shop")

    assert result.exit_code == 2
    assert "not validated: apply failed: disk full" in result.output


def test_a_validation_that_failed_is_an_error(ledger: Ledger) -> None:
    ledger.append(RUNS, [run_row("validate", 2, {}, status="failed", message="no table")])

    assert lakehouse("report", "--source", "shop").exit_code == 2


def test_what_waits_in_quarantine_is_reported_whichever_run_set_it_aside(ledger: Ledger) -> None:
    validated(ledger, {})
    landed = LandedOffsets({"shop.orders": TopicProgress("id", {0: 9})})
    published(ledger, Progress(landed).to_json())
    ledger.append(QUARANTINE, [WAITS, replace(WAITS, offset=4, state="applied")])

    printed = lakehouse("report", "--source", "shop").output
    assert "in quarantine: 1;" in printed
    assert "shop.orders[0] offset 3  orders  bad_value  columns n" in printed
    document = json.loads(lakehouse("report", "--source", "shop", "--json").output)
    assert [each["offset"] for each in document["quarantine"]] == [3]
    told = "1 message in quarantine, of which the cut has nothing: see `lakehouse report"
    assert told in " ".join(lakehouse("status").output.split())


@pytest.mark.parametrize("command", ["report", "tables", "replay", "rebuild"])
def test_before_the_first_run_a_command_says_what_to_do(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "nowhere"))

    result = lakehouse(command, "--source", "shop")

    assert result.exit_code == 1
    assert "lakehouse run --source shop" in str(result.exception)


def test_a_cut_that_nobody_validated_is_refused(ledger: Ledger) -> None:
    validated(ledger, {})

    result = lakehouse("report", "--source", "shop", "--cut", "00000009")

    assert result.exit_code == 1
    assert "cut '00000009' was never validated" in str(result.exception)


def published(ledger: Ledger, offsets: str = "") -> None:
    left = {ITEMS: {"cut": "00000001", "reason": "needs approval: add_column", "offsets": ""}}
    identities = {ORDERS: [None, "public", "orders"], ITEMS: ["stock", "public", "items"]}
    cut = CutRow(
        source="shop",
        cut_id="00000002",
        state="published",
        run_id="run",
        recorded_at=START,
        token=2,
        offsets=offsets,
        position="",
        transactions=1,
        tables={ORDERS: 11, ORDERS + "__state": 12, ITEMS: 13},
        excluded=json.dumps(left),
        held_keys=2,
        identities=json.dumps(identities),
        renames="{}",
        moves="[]",
        held=json.dumps({ORDERS: 2}),
    )
    ledger.append(CUTS, [cut])
    ledger.append(SCHEMA_VERSIONS, [orders_schema()])


def orders_schema() -> SchemaVersionRow:
    decimal = "org.apache.kafka.connect.data.Decimal"
    columns = [
        {"name": "id", "type": "int", "semantic": "", "doc": "", "wire": "int32"},
        {"name": "price", "type": "decimal(9,2)", "semantic": decimal, "doc": "", "wire": "bytes"},
    ]
    return SchemaVersionRow(
        source="shop",
        run_id="run",
        table=ORDERS.partition(".")[2],
        identity=json.dumps([None, "public", "orders"]),
        fingerprint="1",
        topic="shop.public.orders",
        partition=0,
        offset=0,
        position="",
        ddl="",
        change_kinds=("create_table",),
        columns=json.dumps(columns),
        verdict="evolve",
        decision="policy",
        reason="",
        recorded_at=START,
        previous="",
    )


def test_tables_lists_live_and_held_tables_with_the_catalog(ledger: Ledger) -> None:
    published(ledger)

    document = json.loads(lakehouse("tables", "--source", "shop", "--json").output)

    assert document["catalog"].startswith("sqlite:///")
    assert document["tables"] == [
        {
            "identity": "stock.public.items",
            "table": "public.items",
            "silver": ITEMS,
            "state": "held",
            "reason": "needs approval: add_column",
            "cut_id": "00000001",
            "snapshot_id": 13,
            "held_keys": 0,
            "columns": [],
        },
        {
            "identity": "public.orders",
            "table": "public.orders",
            "silver": ORDERS,
            "state": "live",
            "reason": "",
            "cut_id": "00000002",
            "snapshot_id": 11,
            "held_keys": 2,
            "columns": [
                {
                    "name": "id",
                    "loss": "exact",
                    "reason": "",
                    "fact": "the schema in the messages",
                },
                {
                    "name": "price",
                    "loss": "lossy",
                    "reason": "NaN and infinities arrive as NULL",
                    "fact": "the schema in the messages",
                },
            ],
        },
    ]


def test_tables_prints_columns_for_a_person(ledger: Ledger) -> None:
    published(ledger)

    lines = lakehouse("tables", "--source", "shop").output.splitlines()

    assert lines[0].split() == ["source", "table", "silver", "state", "cut", "snapshot", "reason"]
    assert lines[1].split()[:3] == ["public.items", ITEMS, "held"]
    assert lines[2].endswith("  2 keys held by quarantined events")
    (lossy,) = [line for line in lines if "NaN" in line]
    assert lossy.split("  ")[:2] == [ORDERS, "price"]


def test_tables_refuses_a_cut_that_is_not_published(ledger: Ledger) -> None:
    result = lakehouse("tables", "--source", "shop", "--cut", "00000009")

    assert result.exit_code == 1
    assert "is not published" in str(result.exception)


def test_a_password_in_the_catalogs_address_is_never_shown() -> None:
    assert without_password("postgresql://me:pa:ss@db/x") == "postgresql://me:***@db/x"
    assert without_password("sqlite:////a/catalog.db") == "sqlite:////a/catalog.db"


def test_what_is_not_read_of_the_quarantine_is_told_as_more(ledger: Ledger) -> None:
    validated(ledger, {})
    landed = LandedOffsets({"shop.orders": TopicProgress("id", {0: 50_000})})
    published(ledger, Progress(landed).to_json())
    ledger.append(QUARANTINE, [replace(WAITS, offset=offset) for offset in range(20_000)])
    told = "20,000 or more messages in quarantine"
    assert told in " ".join(lakehouse("status").output.split())
