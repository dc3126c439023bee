"""The recorded archives of four connectors: bronze has every byte, silver the expected rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from expectations import SUITES
from lakehouse.plan.records import RESULTS
from lakehouse.spark.bronze.table import Bronze
from tests.support.archives import bronze_messages, capture_cases, read_archive, write_archive
from tests.support.capture_runs import Case, wanted
from tests.support.captures import Capture, expected_rows
from tests.support.sampling import EVERY_CASE, sample, share


@pytest.fixture
def open_case(spark, settings, captures, tmp_path):
    def opened(connector: str, name: str, ending: str = "") -> Case:
        capture = Capture(connector, captures / connector / name)
        return Case(spark, settings, tmp_path, capture, ending)

    return opened


def test_recorded_archives_land_whole_and_end_in_the_expected_rows(
    open_case, captures, figure: Callable[[str], None]
):
    cases = [(connector, folder.name) for connector, folder in capture_cases(captures)]
    assert len(cases) >= 26
    sampled = sample(cases, lambda case: case[1].partition("_")[0])
    figure(f"recorded archives to the expected rows: {share(sampled, cases)}")
    two_at_a_time(lambda case: ends_in_the_expected_rows(open_case(*case)), sampled)


def has_every_byte(case: Case) -> None:
    bronze = Bronze(case.source.name, case.runs.ledger)
    landed = bronze_messages(bronze.messages(case.spark))
    assert landed == read_archive(case.capture.folder), case.capture.name


def ends_in_the_expected_rows(case: Case) -> None:
    case.run(case.capture.folder)
    has_every_byte(case)
    expected = case.capture.expected
    bad = expected.get("quarantine", ())
    places = {(one["topic"], one["partition"], one["offset"]) for one in bad}
    assert case.quarantined() == places, case.capture.name
    tables = expected.get("tables_excluding_open_transactions", expected["tables"])
    assert case.rows(tables) == wanted(case.capture.name, tables), case.capture.name


HISTORIES = (
    ("db2", "ddl_drop_recreate_rename"),
    ("oracle", "ddl_add_drop_rename_widen"),
    ("sqlserver", "ddl_add_drop_rename_widen"),
)


def test_the_recorded_schema_histories_say_what_the_other_topics_say(open_case):
    two_at_a_time(lambda case: has_a_whole_history(open_case(*case, "_hist")), HISTORIES)


def has_a_whole_history(case: Case) -> None:
    outcomes = case.runs.steps(case.capture.folder, ("land", "check"))
    assert outcomes["check"].status == "succeeded", outcomes["check"].message
    results = case.runs.ledger.rows(RESULTS, source=case.source.name)
    found = {row.expectation: row.success for row in results if row.suite == "schema_history"}
    # Nobody asked Kafka how it keeps the topic.
    asked = {"no_compaction", "no_retention_limits"}
    assert found == {
        rule.name: True for rule in SUITES["schema_history"].rules if rule.name not in asked
    }


def two_at_a_time(run: Callable[[tuple[str, str]], None], cases: Iterable[tuple[str, str]]) -> None:
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


@pytest.mark.further
def test_every_checkpoint_of_an_archive_is_reached_and_another_run_changes_nothing(
    open_case, tmp_path
):
    cases = CHECKPOINTS if EVERY_CASE else CHECKPOINTS[:1]
    two_at_a_time(
        lambda case: reaches_checkpoints(open_case(*case, "_cut"), tmp_path / case[1]), cases
    )


def reaches_checkpoints(case: Case, folder: Path) -> None:
    messages = read_archive(case.capture.folder)
    checkpoints = case.capture.expected["checkpoints"]
    assert checkpoints
    for checkpoint in checkpoints:
        ends = checkpoint["after_offsets"]
        before = [m for m in messages if m.offset <= ends[m.topic].get(str(m.partition), -1)]
        case.run(write_archive(folder / checkpoint["name"], before))
        assert_rows(case, checkpoint["tables"])
    for _ in range(2):
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
