"""The recorded archives of four connectors: bronze has every byte, silver the expected rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakehouse.spark.bronze import Bronze
from tests.support.archives import bronze_messages, capture_cases, read_archive, write_archive
from tests.support.capture_runs import Case, wanted
from tests.support.captures import Capture, expected_rows


@pytest.fixture
def open_case(spark, settings, captures, tmp_path):
    def opened(connector: str, name: str, ending: str = "") -> Case:
        capture = Capture(connector, captures / connector / name)
        return Case(spark, settings, tmp_path, capture, ending)

    return opened


@pytest.mark.timeout(1200)
def test_every_recorded_archive_ends_in_the_expected_rows(open_case, captures):
    cases = [(connector, folder.name) for connector, folder in capture_cases(captures)]
    assert len(cases) >= 26
    two_at_a_time(lambda case: ends_in_the_expected_rows(open_case(*case)), cases)


def ends_in_the_expected_rows(case: Case) -> None:
    case.run(case.capture.folder)
    bronze = Bronze(case.source.name, case.runs.ledger)
    landed = bronze_messages(bronze.messages(case.spark))
    assert landed == read_archive(case.capture.folder), case.capture.name
    expected = case.capture.expected
    bad = expected.get("quarantine", ())
    places = {(one["topic"], one["partition"], one["offset"]) for one in bad}
    assert case.quarantined() == places, case.capture.name
    tables = expected.get("tables_excluding_open_transactions", expected["tables"])
    assert case.rows(tables) == wanted(case.capture.name, tables), case.capture.name


def two_at_a_time(run: Callable[[tuple[str, str]], None], cases: Sequence[tuple[str, str]]) -> None:
    """A run waits for its driver most of the time."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, cases))


def assert_rows(case: Case, tables: Mapping[str, Mapping[str, object]]) -> None:
    assert case.rows(tables) == {text: expected_rows(table) for text, table in tables.items()}


CHECKPOINTS = (
    ("db2", "redelivery_after_restart"),
    ("ticdc", "ordering_commit_ts_beyond_2p53"),
    ("db2", "snapshot_incremental_interleaved"),
)


def test_every_checkpoint_of_an_archive_is_reached_also_when_it_is_run_again(open_case, tmp_path):
    two_at_a_time(
        lambda case: reaches_checkpoints(open_case(*case, "_cut"), tmp_path / case[1]), CHECKPOINTS
    )


def reaches_checkpoints(case: Case, folder: Path) -> None:
    messages = read_archive(case.capture.folder)
    checkpoints = case.capture.expected["checkpoints"]
    assert checkpoints
    for checkpoint in checkpoints:
        ends = checkpoint["after_offsets"]
        before = [m for m in messages if m.offset <= ends[m.topic].get(str(m.partition), -1)]
        archive = write_archive(folder / checkpoint["name"], before)
        for _ in range(2):
            case.run(archive)
            assert_rows(case, checkpoint["tables"])
    case.run(case.capture.folder)
    assert_rows(case, case.capture.expected["tables"])


def test_a_held_back_transaction_is_published_once_its_end_has_come(open_case, tmp_path):
    case = open_case("db2", "transactions_missing_end", "_end")
    expected = case.capture.expected
    messages = read_archive(case.capture.folder)
    case.run(case.capture.folder)
    assert_rows(case, expected["tables_excluding_open_transactions"])

    marks = [m for m in messages if m.topic == "db2a.transaction"]
    [open_id] = expected["open_transactions"]
    events = [json.loads(m.value)["payload"] for m in messages if m.value and m not in marks]
    counts: dict[str, int] = {}
    for event in events:
        if (event["transaction"] or {}).get("id") == open_id:
            name = f"{event['source']['schema']}.{event['source']['table']}"
            counts[name] = counts.get(name, 0) + 1
    template = json.loads(next(m for m in marks if b'"END"' in (m.value or b"")).value)
    template["payload"] |= {
        "id": open_id,
        "event_count": sum(counts.values()),
        "data_collections": [
            {"data_collection": name, "event_count": count} for name, count in counts.items()
        ],
    }
    end = marks[-1].changed(
        offset=marks[-1].offset + 1, value=json.dumps(template).encode(), headers=()
    )
    case.run(write_archive(tmp_path / "ended", [*messages, end]))
    assert_rows(case, expected["tables"])
