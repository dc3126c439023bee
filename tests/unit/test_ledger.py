"""Control tables through many appends: every row is read, and what a commit copies stays short."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakehouse.config import Settings
from lakehouse.errors import StepFailed
from lakehouse.plan.records import CUTS, RUNS, RunRow
from lakehouse.plan.store_faults import store_fault
from lakehouse.spark.control import appending
from lakehouse.spark.control.appending import append
from lakehouse.spark.control.control_rows import to_arrow
from lakehouse.spark.control.ledger import Ledger
from tests.support.lost_answers import losing_commits

TOGETHER, ALONE = 12, 35


def run_row(source: str, number: int) -> RunRow:
    now = datetime.now(UTC)
    return RunRow(
        source, str(number), 1, "land", "succeeded", now, now, "", "", "", "{}", "{}", "a sentence"
    )


def test_rows_of_two_sources_that_append_at_once_are_all_read(tmp_path):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    sources = ("a", "b")

    def write(source: str) -> list[int]:
        mine, seen = Ledger(settings), []
        for number in range(TOGETHER):
            mine.append(RUNS, [run_row(source, number)])
            seen.append(len(mine.runs(source)))
        return seen

    with ThreadPoolExecutor(len(sources)) as pool:
        for seen in pool.map(write, sources):
            assert seen == list(range(1, TOGETHER + 1))

    for source in sources:
        found = [int(row.run_id) for row in Ledger(settings).runs(source)]
        assert found == list(range(TOGETHER))


def test_an_append_whose_snapshot_others_forgot_begins_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(appending, "_CONTESTED", timedelta(0))
    monkeypatch.setattr(appending, "_MOST_OLD_SNAPSHOTS", 1)
    writer = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    writer.append(RUNS, [run_row("a", 0)])
    late = writer.catalog.load_table(RUNS.name)
    begun = late.current_snapshot()
    for number in (1, 2):
        writer.append(RUNS, [run_row("a", number)])
    assert begun not in writer.catalog.load_table(RUNS.name).snapshots()

    append(late, to_arrow(RUNS.row, [run_row("a", 3)]))
    assert sorted(row.run_id for row in writer.runs("a")) == ["0", "1", "2", "3"]


def test_what_each_append_copies_stays_short(tmp_path, monkeypatch):
    monkeypatch.setattr(appending, "_CONTESTED", timedelta(0))
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    writer = Ledger(settings)
    for number in range(ALONE):
        writer.append(RUNS, [run_row("a", number)])
    assert len(writer.runs("a")) == ALONE

    table = writer.catalog.load_table(RUNS.name)
    newest = table.current_snapshot()
    assert newest is not None
    assert len(table.snapshots()) <= 31
    assert len(newest.manifests(table.io)) <= 20
    assert len(table.metadata.metadata_log) <= 11


def test_the_newest_rows_are_read_without_the_files_of_older_ones(tmp_path):
    writer = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    files = set()
    for number in range(40):
        writer.append(RUNS, [run_row("a", number)])
        written = set((tmp_path / "warehouse").rglob("*.parquet"))
        if number < 5:
            files |= written
    for path in files:
        path.unlink()

    newest = writer.newest(RUNS, 3, source="a")

    assert [row.run_id for row in newest] == ["37", "38", "39"]
    since = writer.newest(RUNS, 50, since=newest[1].ended_at, source="a")
    assert [row.run_id for row in since] == ["38", "39"]
    assert writer.newest(RUNS, 3, source="b") == []
    assert writer.newest(CUTS, 3, source="a") == []


def test_files_that_a_process_has_read_are_not_read_again_for_their_newest_rows(tmp_path):
    writer = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    for number in range(5):
        writer.append(RUNS, [run_row("a", number)])
    before = writer.runs("a")
    for path in (tmp_path / "warehouse").rglob("*.parquet"):
        path.unlink()
    writer.append(RUNS, [run_row("a", 5), run_row("b", 6)])

    newest = writer.newest(RUNS, 3, source="a")
    since = writer.newest(RUNS, 50, since=before[-1].ended_at, source="a")

    assert [row.run_id for row in newest] == ["3", "4", "5"]
    assert [row.run_id for row in since] == ["4", "5"]


def test_the_newest_rows_are_found_in_files_of_any_order(tmp_path):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    writer, now = Ledger(settings), datetime(2026, 1, 1, tzinfo=UTC)
    times = [now + timedelta(microseconds=n) for n in range(100)]
    rows = [replace(run_row("a", n), ended_at=time) for n, time in enumerate(times)]
    # Compaction puts old and new rows into one file.
    for part in (rows[::2], rows[51:60:2], rows[1:50:2], rows[61::2]):
        writer.append(RUNS, part)

    assert [int(row.run_id) for row in writer.newest(RUNS, 7, source="a")] == [*range(93, 100)]


def test_rows_whose_answer_is_lost_are_written_once(tmp_path):
    mine = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    mine.append(RUNS, [run_row("a", 0)])

    with losing_commits(mine.catalog, 1):
        mine.append(RUNS, [run_row("a", 1)])

    assert sorted(row.run_id for row in mine.runs("a")) == ["0", "1"]


def test_rows_are_written_though_older_snapshots_cannot_be_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr(appending, "_CONTESTED", timedelta(0))
    monkeypatch.setattr(appending, "_MOST_OLD_SNAPSHOTS", 1)
    mine = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    mine.append(RUNS, [run_row("a", 0)])

    # The second commit of an append forgets.
    with losing_commits(mine.catalog, 2) as commits:
        mine.append(RUNS, [run_row("a", 1)])
    assert commits.made == 2
    with losing_commits(mine.catalog, 2, before=True):
        mine.append(RUNS, [run_row("a", 2)])

    assert sorted(row.run_id for row in mine.runs("a")) == ["0", "1", "2"]


def test_a_machine_whose_clock_is_behind_writes_nothing(tmp_path):
    mine = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    mine.append(RUNS, [run_row("a", 0)])
    before = mine.catalog.load_table(RUNS.name).metadata_location
    # As a machine leaves it whose clock is two days ahead; behind it, Java reads no such table.
    file, ahead = Path(before.removeprefix("file://")), 2 * 86_400_000
    text = file.read_text(encoding="utf-8")
    file.write_text(re.sub(r"(-ms\":)(\d+)", lambda m: f"{m[1]}{int(m[2]) + ahead}", text))

    with pytest.raises(StepFailed, match="ahead of this machine's clock"):
        mine.append(RUNS, [run_row("a", 1)])

    assert mine.catalog.load_table(RUNS.name).metadata_location == before
    assert [row.run_id for row in mine.runs("a")] == ["0"]


@pytest.mark.parametrize("left", [0, 100])
def test_metadata_that_cannot_be_read_are_named(tmp_path, left: int):
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    ledger.append(RUNS, [run_row("a", 0)])
    location = ledger.catalog.load_table(RUNS.name).metadata_location
    file = Path(location.removeprefix("file://"))
    file.write_bytes(file.read_bytes()[:left])

    with pytest.raises(OSError, match="Failed to read file") as torn:
        ledger.runs("a")

    told = store_fault(torn.value, "a")
    assert told is not None
    assert told.startswith(f"file {location} is not there, or not as it was written: expected")
