"""Bad inputs: each has its outcome, and the good rows beside it are published.

`reliability.md` section 7 lists them. Each case here is a table of its own in one run of a source,
but for odd values, which are rows of one table. These are shown elsewhere, where they happen:

- lines of topic archives: `test_archive_lines` (48 of them), `test_land_archive`
- repeated and contradicting offsets, a topic made again, lost ranges: `test_landing_plan`
- TOML files: `test_config_errors`
- truncates over several topic partitions: `test_apply_postgresql`
- type narrowing and other changes that need an approval: `test_quality_versions`
- text in DDL, table names and values in reports: `test_quality_report`
- events without a key in a table that has one, keys of the TOML file: `test_keyless_tables`
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.bad_input import GONE
from tests.support.bad_runs import ALL, VALUES_TABLE, BadRun, run_all
from tests.support.bad_values import BAD, VALUES
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import laws_hold, open_runs
from tests.support.sampling import EVERY_CASE, share

# The source with the odd values; what is bad is so whatever sends it.
SAMPLED = list(ALL) if EVERY_CASE else ["postgresql"]
EVERY = [(connector, name) for connector, (_, cases) in ALL.items() for name in cases]
CASES = [(connector, name) for connector, name in EVERY if connector in SAMPLED]


@pytest.fixture(scope="module")
def found(spark, settings, tmp_path_factory) -> dict[str, BadRun]:
    """One run of each connector's source."""
    folder = tmp_path_factory.mktemp("bad")
    with ThreadPoolExecutor(2) as pool:
        ran = pool.map(lambda connector: run_all(spark, settings, folder, connector), SAMPLED)
        return dict(zip(SAMPLED, ran, strict=True))


def test_the_corpus_is_as_large_as_it_was_asked_for(figure: Callable[[str], None]):
    assert len(EVERY) + len(VALUES) >= 60
    figure(f"connectors of the bad inputs: {share(SAMPLED, list(ALL))}")


@pytest.mark.parametrize("connector", SAMPLED)
def test_a_run_with_bad_inputs_succeeds_and_the_law_of_conservation_holds(found, connector):
    outcomes = found[connector].outcomes
    failed = {s: o.message for s, o in outcomes.items() if o.status != "succeeded"}
    assert failed == {}
    assert laws_hold(outcomes["apply"])


@pytest.mark.parametrize(("connector", "name"), CASES)
def test_a_bad_input_has_its_outcome_and_harms_no_other(found, connector, name):
    case, run = ALL[connector][1][name], found[connector]
    table = case.table or name
    rows = run.rows(table)
    assert [row["id"] for row in rows] == list(case.rows)
    bad = len(run.sent[name]) - 2
    assert [entry[:2] for entry in run.quarantined(name)] == (
        [(bad, case.reason)] if case.reason else []
    )
    if case.hold:
        assert case.hold in run.held[run.silver(table)]
    else:
        assert run.silver(table) not in run.held
    if case.detail:
        about = [one for one in run.findings if one.startswith(run.silver(table))]
        expected = (case.detail, *case.more)
        matched = [text in one for text, one in zip(expected, about, strict=True)]
        assert matched == [True] * len(expected)
    if case.stored is not GONE:
        assert rows[1]["v"] == case.stored


@pytest.mark.parametrize("name", VALUES)
def test_an_odd_value_is_kept_exactly_or_quarantined_with_its_column(found, name):
    run, value = found["postgresql"], VALUES[name]
    number = list(VALUES).index(name)
    mine = [row for row in run.rows(VALUES_TABLE) if row["id"] == number]
    entries = [entry for entry in run.quarantined(VALUES_TABLE) if entry[0] == number]
    if value.stored is BAD:
        assert mine == []
        assert entries == [(number, "bad_value", f"columns {value.column}")]
        return
    assert entries == []
    stored = mine[0][value.column]
    if isinstance(value.stored, float):
        assert math.isnan(stored) == math.isnan(value.stored)
        assert math.copysign(1, stored) == math.copysign(1, value.stored)
    if value.stored == value.stored:  # not NaN
        assert stored == value.stored


def test_quarantine_names_a_table_as_the_toml_file_does_or_not_at_all(found):
    tables = found["postgresql"].quarantined_tables
    assert {
        ("bad_value", f"public.{VALUES_TABLE}"),
        ("key_mismatch", "public.key_not_in_image"),
        ("bad_key", "public.key_array"),
        ("wrong_topic", "public.elsewhere"),
        ("no_identity", ""),
        ("not_json", ""),
    } <= tables
    assert {table.partition(".")[0] for _, table in tables} == {"", "public", "elsewhere"}


def test_each_quarantined_message_says_what_is_wrong_with_it(found):
    assert [entry for run in found.values() for entry in run.quarantine_rows if not entry[3]] == []


def test_no_message_is_quarantined_that_no_case_names(found):
    for connector, run in found.items():
        named = {name for name, case in ALL[connector][1].items() if case.reason}
        named |= {VALUES_TABLE} & run.sent.keys()
        topics = {run.sent[name][0].topic for name in named}
        assert {entry[0] for entry in run.quarantine_rows} <= topics


def test_a_corrupted_file_fails_the_run_by_its_name_and_publishes_nothing(
    spark, settings, tmp_path
):
    runs = open_runs(spark, settings, tmp_path, "corrupted_file")
    connector = Postgres(runs.source.name)
    orders = Table("orders", [column("id", "int32", optional=False)])
    connector.transact((orders, "c", None, {"id": 1}))
    runs.run(connector, ("land",))
    bronze = runs.ledger.catalog.load_table("bronze.corrupted_file")
    [file] = [task.file.file_path for task in bronze.scan().plan_files()]
    path = Path(file.removeprefix("file:").replace("///", "/"))
    path.write_bytes(path.read_bytes()[:-200] + bytes(200))
    outcomes = runs.steps(steps=("check", "apply", "validate", "publish"))
    assert {step: one.status for step, one in outcomes.items()} == dict.fromkeys(outcomes, "failed")
    assert path.name in outcomes["check"].message
    assert path.name in outcomes["apply"].message
    assert runs.ledger.newest_cut(runs.source.name) is None
