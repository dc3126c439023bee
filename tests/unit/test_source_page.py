"""The data-quality page of a source: what stands on it, and that it does not grow with time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from expectations import SUITES
from lakehouse.config import Settings
from lakehouse.plan.records import CutRow, SchemaVersionRow
from lakehouse.quality.pages.building import source_page
from lakehouse.quality.pages.history import histories
from lakehouse.quality.pages.model import ColumnChange, SourcePage
from lakehouse.quality.pages.reading import RUNS_SHOWN, SourceRecords, read_source
from lakehouse.quality.pages.writing import write_pages
from lakehouse.quality.reports.report import QuarantinedMessage
from lakehouse.quality.reports.summary import read_recent
from lakehouse.spark.control.ledger import Ledger
from tests.support.quality_records import START, Run, Story
from tests.support.quality_story import FULL_DISK, HOLD, story

ORDERS = "silver_shop.shop__orders"
AMOUNT = ColumnChange("~", "amount", "decimal(9,2) default 0.00", "string default 0.00")


def read(home: Path, told: Story) -> SourceRecords:
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(home)}))
    told.write(ledger)
    return read_source(ledger, told.source, "mysql", read_recent(ledger, told.source))


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> SourceRecords:
    return read(tmp_path_factory.mktemp("home"), story("shop"))


@pytest.fixture(scope="module")
def page(records: SourceRecords) -> SourcePage:
    return source_page(records)


def judged_last(records: SourceRecords) -> list[bool]:
    """Of each expectation of the newest run whether it passed."""
    newest = records.runs[-1][0].run_id
    return [row.success for row in records.results if row.run_id == newest]


def test_the_figures_say_how_fresh_the_source_is_and_what_waits(
    page: SourcePage, records: SourceRecords
) -> None:
    figures = {card.label: (card.value, card.note, card.tone) for card in page.cards}

    assert figures["Published"] == ("20:30 UTC", "2026-03-02, cut 00000030", "")
    assert figures["Newest message"] == (
        "20:30 UTC",
        "15 messages waiting, the oldest for 1 hour",
        "",
    )
    passed, failed = (judged_last(records).count(each) for each in (True, False))
    assert passed > failed > 0
    assert figures["Expectations"] == (f"{passed} passed", f"{failed} failed", "failed")
    assert figures["Held tables"] == ("1", "wait for a person", "failed")
    assert figures["In quarantine"] == ("34", "2 keys held", "warning")
    rows = sum(table.rows or 0 for table in page.tables)
    assert figures["Rows"] == (f"{rows:,}", "in 7 tables", "")


def test_a_held_table_shows_its_statement_and_the_way_out(page: SourcePage) -> None:
    (held,) = page.held

    assert (held.silver, held.identity, held.reason) == (ORDERS, "shop.orders", HOLD)
    assert held.cut_id == "00000027"
    assert held.at == ("shop.shop.orders", 0, 7800)
    assert held.ddl.startswith("ALTER TABLE shop.orders\n  MODIFY amount")
    assert held.waiting == 15
    assert held.changes == (AMOUNT,)
    approve = "lakehouse approve --source shop --table shop.orders"
    assert [command for command, _ in held.commands] == [approve, f"{approve} --reject"]


def test_a_column_that_went_may_be_the_one_that_came(records: SourceRecords) -> None:
    held = next(row for row in reversed(records.versions) if row.verdict == "hold")
    columns = json.loads(held.columns)
    columns[-1]["name"] = "it's new"
    was = json.loads(held.columns)[-1]["name"]
    renamed = replace(held, columns=json.dumps(columns), fingerprint="another")
    rows = [row for row in records.versions if row is not held]
    (shown,) = source_page(replace(records, versions=(*rows, renamed))).held

    approve = "lakehouse approve --source shop --table shop.orders"
    assert shown.commands[-1][0] == f"{approve} --rename '{was}=it'\"'\"'s new'"


def test_a_table_that_its_suites_refuse_shows_another_way_out(records: SourceRecords) -> None:
    rows = [row for row in records.versions if row.verdict != "hold"]
    (held,) = source_page(replace(records, versions=tuple(rows))).held

    assert held.at is None
    assert [command for command, _ in held.commands] == [
        "lakehouse report --source shop",
        "lakehouse run --source shop",
    ]


def test_a_statement_may_hold_its_table_before_rows_come(records: SourceRecords) -> None:
    rows = [row for row in records.versions if row.verdict != "hold"]
    statement = next(row for row in reversed(rows) if "MODIFY amount" in row.ddl)
    told = replace(statement, verdict="hold", reason="waits", offset=9)
    (held,) = source_page(replace(records, versions=(*rows, told))).held

    assert (held.silver, held.reason, held.at) == (ORDERS, "waits", ("shop.shop.orders", 0, 9))
    assert held.ddl == statement.ddl


def test_a_name_that_a_shell_would_read_is_quoted(records: SourceRecords) -> None:
    name = json.dumps(["shop", None, "or ders; rm -rf"])
    rows = tuple(replace(row, identity=name) for row in records.versions)
    (held, *_) = source_page(replace(records, versions=rows)).held

    assert held.commands[0][0] == ("lakehouse approve --source shop --table 'shop.or ders; rm -rf'")


def test_quarantine_is_shown_by_reason_with_its_newest_messages(page: SourcePage) -> None:
    assert [(each.reason, each.count) for each in page.quarantine] == [
        ("bad_value", 27),
        ("wrong_topic", 7),
    ]
    most = page.quarantine[0]
    assert len(most.messages) == 20
    assert most.messages[0] == QuarantinedMessage(
        ("shop.shop.order_items", 0, 8026), "order_items", "bad_value", "columns price, added"
    )


def test_runs_come_newest_first_and_say_where_they_stopped(page: SourcePage) -> None:
    assert len(page.runs) == 30
    assert page.runs[0].name == "00000030"
    assert {run.stopped for run in page.runs} == {"", "apply", "publish"}
    (failed,) = [run for run in page.runs if run.stopped == "apply"]
    assert failed.message == f"not validated: apply failed: {FULL_DISK}"
    assert failed.verdict == "error"


def test_plots_have_a_bar_for_each_run_and_say_in_words_what_they_show(
    page: SourcePage, records: SourceRecords
) -> None:
    count = len(judged_last(records))
    assert len({bar.x for bar in page.duration.bars}) == 30
    assert len([bar for bar in page.duration.bars if bar.tone == "failed"]) == 2
    assert len({bar.x for bar in page.expectations.bars}) == 29
    assert page.expectations.summary == (
        "Expectations judged of 30 runs, in expectations: "
        f"lowest 0, highest {count}, newest {count}; "
        "the table of runs has the numbers"
    )
    everywhere = (*page.expectations.bars, *page.applied.bars, *page.duration.bars)
    assert all(bar.y >= 0 and bar.y + bar.height <= 102.1 for bar in everywhere)
    assert all(bar.x >= 34 and bar.x + bar.width <= 360 for bar in everywhere)


def test_every_expectation_is_listed_either_as_failing_or_as_passing(page: SourcePage) -> None:
    names = {f"{suite}.{r.name}" for suite in ("silver", "bronze") for r in SUITES[suite].rules}
    failing = {f"{rule.suite}.{rule.rule}" for rule in page.rules}

    assert failing | set(page.always_passed) == names
    assert failing & set(page.always_passed) == set()
    (twice,) = [rule for rule in page.rules if rule.rule == "no_duplicate_keys"]
    assert twice.cells[-1].tone == "failed"
    assert twice.cells[-1].title.endswith("cut 00000030: failed for 1 of 7")
    assert twice.cells[11].tone == ""


def test_tables_have_their_state_rows_and_verdicts(page: SourcePage) -> None:
    tables = {table.silver: table for table in page.tables}

    assert (tables[ORDERS].state, tables[ORDERS].rows, tables[ORDERS].changes) == ("held", 2902, 42)
    assert len(tables[ORDERS].verdicts) == 30
    assert tables[ORDERS].trend.summary.startswith("rows: ")
    assert tables["silver_shop.shop__order_items"].verdicts[-1].tone == "failed"


def test_a_history_lists_versions_newest_first_with_what_changed(page: SourcePage) -> None:
    (history,) = [each for each in page.histories if each.silver == ORDERS]
    of_events = [version for version in history.versions if version.told_by == "data events"]

    assert [version.kinds for version in of_events] == [
        ("change_type",),
        ("widen_type",),
        ("add_column",),
        ("create_table",),
    ]
    assert [version.changes for version in of_events] == [
        (AMOUNT,),
        (ColumnChange("~", "quantity", "int", "bigint"),),
        (ColumnChange("+", "note", "", "string"),),
        (),
    ]
    assert page.histories[0] == history


def test_a_long_history_and_a_wide_change_are_cut_and_say_so(records: SourceRecords) -> None:
    (row, *_) = [row for row in records.versions if not row.ddl]
    wide = [{"name": f"c{n}", "type": "int", "optional": True} for n in range(100)]
    rows = [row, *(version_of(row, wide[: n + 50], n) for n in range(30))]

    (history,) = histories(rows)

    assert (len(history.versions), history.older) == (20, 11)
    (first,) = histories(rows[:2])
    assert (len(first.versions[0].changes), first.versions[0].more) == (40, 13)


def version_of(row: SchemaVersionRow, columns: list[object], number: int) -> SchemaVersionRow:
    return replace(row, columns=json.dumps(columns), offset=row.offset + 1 + number)


def test_a_source_without_a_cut_has_a_page(records: SourceRecords) -> None:
    land = records.runs[0][:1]
    page = source_page(replace(records, runs=(land,), cut=None, results=(), versions=()))

    assert page.cards[0].value == "never"
    assert (page.tables, page.rules, page.histories) == ((), (), ())
    assert page.verdict == "no data"


def test_what_is_read_does_not_grow_with_the_age_of_the_source(tmp_path: Path) -> None:
    told = story("old", tables=3, runs=RUNS_SHOWN + 20)
    found = read(tmp_path, told)

    assert (
        [run[0].run_id for run in found.runs]
        == list(
            dict.fromkeys(row.run_id for row in told.rows["quality.runs"])  # type: ignore[union-attr]
        )[-RUNS_SHOWN:]
    )
    oldest = min(row.started_at for run in found.runs for row in run)
    assert oldest > START
    assert all(row.validated_at >= oldest for row in found.results)
    assert isinstance(found.cut, CutRow)
    assert found.cut.cut_id == f"{RUNS_SHOWN + 20:08d}"


def test_a_page_that_says_the_same_is_not_written_again(tmp_path: Path) -> None:
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    told = story("shop", tables=2, runs=3)
    told.write(ledger)
    run_id = Run(told, 2).id

    before = write_pages(tmp_path, ledger, "shop", "mysql", run_id).stat()
    after = write_pages(tmp_path, ledger, "shop", "mysql", run_id).stat()

    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
