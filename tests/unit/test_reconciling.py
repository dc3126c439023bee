"""Two sides are compared by buckets, and only what one place of the log proves is a difference."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.config import Settings, parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.losses import MASK, Loss, LossClass
from lakehouse.plan.epochs import Top
from lakehouse.plan.progress import Progress
from lakehouse.plan.reconciling.keys import Difference, Fault, StatesBuilder, candidates, judge
from lakehouse.plan.reconciling.outcome import Outcome, TableOutcome, result_rows
from lakehouse.plan.reconciling.reached import binlog_end, has_reached, postgresql_end
from lakehouse.plan.reconciling.repair import KEYS_AT_ONCE, MOST_SIGNALS, Repair, repair_of
from lakehouse.plan.reconciling.sums import (
    MOST_BUCKETS,
    Sums,
    bucket_count,
    bucket_of,
    differing,
    that_fit,
)
from lakehouse.plan.reconciling.tables import SilverColumn, SourceTable, compared_table
from lakehouse.plan.reconciling.texts import column_digest, digest
from lakehouse.plan.reconciling.wanted import of_buckets, of_keys, shown_key
from lakehouse.plan.records import CutRow
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from lakehouse.quality.judgement import Verdict
from lakehouse.quality.reports.run_report import recorded_findings
from lakehouse.reconciling.entry import source_database

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POSTGRESQL = CONNECTORS["postgresql"]
NAMES = ("id", "total", "note")


def sums(rows, buckets=8):
    found = Sums()
    for key, row in rows:
        found.add(bucket_of(digest([key]), buckets), digest([key, row]))
    return found


ROWS = st.lists(st.tuples(st.binary(max_size=2), st.binary(max_size=2)), max_size=30)


@given(ROWS, st.randoms(use_true_random=False))
def test_equal_rows_have_equal_sums_in_any_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert differing(sums(rows), sums(shuffled)) == ()


@given(ROWS, ROWS)
def test_other_rows_have_other_sums_and_their_buckets_are_named(left, right):
    places = differing(sums(left), sums(right))
    assert (sorted(left) == sorted(right)) == (not places)
    for key in {row[0] for row in set(left) ^ set(right)}:
        if [r for r in sorted(left) if r[0] == key] != [r for r in sorted(right) if r[0] == key]:
            assert bucket_of(digest([key]), 8) in places


@given(ROWS, ROWS)
def test_sums_are_added_up_from_parts_of_any_size(left, right):
    total: dict[int, list[int]] = {}
    for part in (sums(left), sums(right)):
        for bucket, *numbers in part.parts():
            before = total.setdefault(bucket, [0] * len(numbers))
            total[bucket] = [a + b for a, b in zip(before, numbers, strict=True)]
    whole = Sums.of_parts((bucket, *numbers) for bucket, numbers in total.items())
    assert differing(whole, sums([*left, *right])) == ()


def test_a_row_that_stands_twice_is_not_like_one_that_is_not_there():
    row = (b"1", b"a")
    assert differing(sums([row, row]), sums([])) != ()
    assert differing(sums([row, row]), sums([row])) != ()


def test_buckets_are_few_for_few_rows_and_bounded_for_many():
    assert [bucket_count(rows) for rows in (0, 1, 512, 1024, 5000)] == [1, 1, 1, 2, 16]
    assert bucket_count(10**12) == MOST_BUCKETS


def test_only_as_many_buckets_are_looked_at_as_fit():
    side = dict.fromkeys(range(5), (10, 0))
    assert that_fit(range(5), (side, {}), 25) == (0, 1)
    assert that_fit(range(5), ({}, side), 5) == (0,)
    assert that_fit((), (side, side), 5) == ()


def test_keys_are_wanted_by_bucket_or_by_name():
    keys = [digest([b"%d" % number]) for number in range(50)]
    buckets = of_buckets(4, [1])
    assert {bucket_of(key, 4) for key in keys if key in buckets} == {1}
    assert [key in of_keys(keys[:1]) for key in keys[:2]] == [True, False]


def side(*rows, places=None):
    """The states of rows `(id, total, note)`; where they come from, by id."""
    states = StatesBuilder()
    for row in rows:
        texts = [str(value).encode() for value in row]
        digests = (digest(texts), b"".join(map(column_digest, texts)))
        place = (places or {}).get(row[0], "1")
        states.add_digests(key(row[0]), f"id={row[0]}", digests, place, (row[0],))
    for identity, place in (places or {}).items():
        if identity not in {row[0] for row in rows}:
            states.add_digests(key(identity), f"id={identity}", None, place)
    return states.states()


def key(identity):
    return digest([str(identity).encode()])


def judged(source, before, behind):
    return judge(candidates(source, before), source, before, behind, NAMES)


SILVER = side((1, "1.50", "a"), (2, "2.50", "b"))


@pytest.mark.parametrize(
    ("source", "fault", "columns"),
    [
        (side((1, "1.50", "a")), Fault.EXTRA, ()),
        (side((1, "1.50", "a"), (2, "2.50", "b"), (3, "1", "c")), Fault.MISSING, ()),
        (side((1, "1.50", "a"), (2, "2.51", "b")), Fault.STALE, ("total",)),
        (side((1, "1.50", "a"), (2, "2.51", "B")), Fault.STALE, ("total", "note")),
        (side((1, "1.50", "a"), (2, "2.50", "b"), (2, "2.50", "b")), Fault.REPEATED, ()),
    ],
)
def test_a_key_that_did_not_change_between_two_cuts_and_differs_is_found(source, fault, columns):
    result = judged(source, SILVER, SILVER)
    assert [(found.fault, found.columns) for found in result.found] == [(fault, columns)]
    assert result.open == frozenset()


def test_swapped_rows_are_two_differences():
    result = judged(side((1, "2.50", "b"), (2, "1.50", "a")), SILVER, SILVER)
    assert [found.sentence() for found in result.found] == [
        "id=1: stale (total, note)",
        "id=2: stale (total, note)",
    ]
    assert [found.values for found in result.found] == [(1,), (2,)]


@pytest.mark.parametrize(
    "behind",
    [
        side((1, "1.50", "a"), (2, "9.99", "b"), places={2: "7"}),
        side((1, "1.50", "a"), places={2: "7"}),
        side((1, "1.50", "a"), (2, "2.50", "b"), places={2: "7"}),
    ],
)
def test_a_key_that_changed_meanwhile_is_looked_at_again(behind):
    result = judged(side((1, "1.50", "a"), (2, "2.51", "b")), SILVER, behind)
    assert result == type(result)((), frozenset({key(2)}))


def test_a_key_that_came_and_went_between_two_cuts_is_looked_at_again():
    source = side((1, "1.50", "a"), (2, "2.50", "b"), (3, "3.50", "c"))
    gone = side((1, "1.50", "a"), (2, "2.50", "b"), places={3: "8"})
    assert judged(source, SILVER, gone).open == frozenset({key(3)})
    assert judged(source, gone, gone).found[0].fault is Fault.MISSING


def test_what_a_later_cut_has_as_the_source_had_it_is_settled():
    source = side((1, "1.50", "a"), (2, "2.51", "b"))
    result = judged(source, SILVER, side((1, "1.50", "a"), (2, "2.51", "b"), places={2: "7"}))
    assert (result.found, result.open) == ((), frozenset())


def cut(*tops):
    offsets = LandedOffsets({"shop.a": TopicProgress("", {0: 1})})
    found = {("shop.a", number): Top(top) for number, top in enumerate(tops)}
    text = Progress(offsets, {}, found).to_json()
    return CutRow(
        "shop", "1", "published", "run", NOW, 1, text, "", 0, {}, "", 0, "", "", "[]", "", ""
    )


def lsn(commit, own):
    return f"{commit:020}.{own:020}"


@pytest.mark.parametrize(
    ("top", "reached"),
    [
        (lsn(0x10, 0x20), False),
        (lsn(0x2FF, 0x2F0), False),
        (lsn(0x10, 0x300), True),
        (lsn(0x300, 0x20), True),
        ("~000002|" + lsn(0x10, 0x301), True),
    ],
)
def test_an_event_behind_the_end_of_the_log_shows_that_a_cut_reached_it(top, reached):
    assert has_reached(cut(lsn(1, 2), top), postgresql_end("0/300")) is reached


@pytest.mark.parametrize(
    ("file", "place", "reached"),
    [(7, 499, False), (7, 500, True), (6, 900, False), (8, 4, True)],
)
def test_a_place_of_the_binlog_is_reached_in_its_file_or_a_later_one(file, place, reached):
    top = f"{file:010}.{place:020}.{0:010}"
    assert has_reached(cut(top), binlog_end("binlog.000007", 500)) is reached


def test_a_cut_without_a_streamed_event_has_reached_nothing():
    assert not has_reached(cut(), postgresql_end("0/0"))
    assert postgresql_end("16/B374D848").numbers == (0x16B374D848,)


TABLE = SourceTable(
    TableIdentity("shop", "public", "orders"),
    {"id": "integer", "total": "decimal", "card": "text", "Taken": "time", "extra": "text"},
    ("id",),
)
COLUMNS = (
    SilverColumn("id", "int"),
    SilverColumn("total", "decimal(12,2)"),
    SilverColumn("card", "string"),
    SilverColumn("Taken", "bigint", "time of day in milliseconds"),
    SilverColumn("_cdc", "struct<op:string>"),
)


def compared(columns=COLUMNS, key=("id",), losses=()):
    names = ("public.orders", "silver_shop.public__orders")
    return compared_table(TABLE, names, columns, key, losses, POSTGRESQL)


def lossy(name, reason, fact=""):
    return Loss(name, LossClass.LOSSY, reason, fact)


def test_columns_are_compared_in_the_order_of_the_key_and_the_rest_is_said():
    found = compared(key=("total",))
    assert [column.name for column in found.columns] == ["total", "id", "card", "Taken"]
    assert found.left_out == (("extra", "silver has no such column"),)
    assert [column.name for column in found.key_columns] == ["total"]


def test_masked_columns_are_left_out_with_the_reason():
    found = compared(losses=[lossy("card", "masked: redacted", MASK)])
    assert ("card", "masked: redacted") in found.left_out
    assert "card" not in [column.name for column in found.columns]


def test_losses_that_the_canonical_form_leaves_out_do_not_matter_and_others_do():
    known = POSTGRESQL.losses["org.apache.kafka.connect.data.Decimal"]
    assert compared(losses=[lossy("total", known)]).left_out == compared().left_out
    cut_off = compared(losses=[lossy("Taken", "digits behind the millisecond are cut")])
    assert dict(cut_off.left_out)["Taken"] == "digits behind the millisecond are cut"


def test_a_type_of_silver_that_rounds_is_not_compared():
    columns = (COLUMNS[0], SilverColumn("total", "double"))
    assert dict(compared(columns).left_out)["total"] == "silver holds it as double"


def test_a_table_whose_key_is_masked_is_refused_with_the_reason():
    found = compared(key=("card",), losses=[lossy("card", "masked: keyed hash", MASK)])
    assert found.refused == "its key card cannot be compared: masked: keyed hash"
    assert compared(columns=()).refused == "the published cut has no such table"


def test_a_row_has_the_same_texts_on_both_sides():
    found = compared()
    source = found.texts([7, "1.5", None, time(0, 0, 1)], of_silver=False)
    silver = found.texts([7, "1.50", None, 1000], of_silver=True)
    assert source == silver
    assert found.key_digest(source) == digest(source[:1])
    assert shown_key(found, b"", [7, "1.5"]) == "id=7"


def test_rows_of_a_table_without_a_key_are_named_by_a_hash_alone():
    bag = compared(key=())
    assert shown_key(bag, b"\x01\xff", [7, "secret"]) == "row 01ff"
    assert bag.key_digest([b"a", b"b"]) == digest([b"a", b"b"])


def outcome(*, refused="", **values):
    return TableOutcome(replace(compared(), refused=refused), 5, 4, **values)


FOUND = (Difference(b"", "id=1", Fault.MISSING, values=(1,)),)


@pytest.mark.parametrize(
    ("table", "state", "code"),
    [
        (outcome(), "equal", 0),
        (outcome(found=FOUND, open=1), "differs", 2),
        (outcome(open=1), "not settled", 1),
        (outcome(changing=1), "equal", 0),
        (outcome(beyond=9), "not settled", 1),
        (outcome(refused="it is held"), "not compared", 1),
    ],
)
def test_the_worst_of_a_table_is_its_state(table, state, code):
    assert (table.state, table.exit_code) == (state, code)
    whole = Outcome("shop", "00000001", "00000001", "0/300", (outcome(), table))
    assert whole.exit_code == code
    [_, row] = result_rows(whole, "run", NOW, NOW)
    assert row.success == (code == 0)
    assert Verdict.FAILED.exit_code == 2


def test_a_difference_is_a_finding_of_the_report_with_its_key():
    whole = Outcome("shop", "00000001", "00000001", "0/300", (outcome(found=FOUND),))
    [finding] = recorded_findings(result_rows(whole, "run", NOW, NOW))
    assert (finding.suite, finding.severity, finding.success) == ("reconcile", "critical", False)
    assert [sample.key for sample in finding.samples] == ["id=1: missing"]
    assert finding.observed["missing"] == 1
    assert json.loads(result_rows(whole, "r", NOW, NOW)[0].observed)["source_rows"] == 5


def test_nothing_compared_is_not_equal():
    assert Outcome("shop", "1", "1", "0/0", ()).exit_code == 1


def difference(fault, *values, places=()):
    return Difference(digest([repr(values).encode()]), repr(values), fault, (), values, places)


def test_rows_that_the_source_has_are_read_again_by_their_keys_alone():
    found = [difference(Fault.STALE, 7), difference(Fault.MISSING, 9)]
    repair = repair_of(compared(), found)
    [again] = repair.rereadings
    assert [condition.sql("postgresql") for condition in again.conditions] == ['"id" IN (7, 9)']
    assert (again.keys, repair.removal, repair.refused) == (2, None, ())


def test_keys_of_several_columns_are_named_by_no_condition_that_holds_for_others():
    found = [difference(Fault.STALE, *key) for key in ((1, "a"), (2, "b"), (1, "it's"))]
    repair = repair_of(compared(key=("id", "card")), found)
    written = [[c.sql("mysql") for c in each.conditions] for each in repair.rereadings]
    assert written == [["`id` = 1", "`card` IN ('a', 'it''s')"], ["`id` = 2", "`card` IN ('b')"]]


def test_many_keys_are_several_signals_and_very_many_the_whole_table():
    many = [difference(Fault.MISSING, number) for number in range(KEYS_AT_ONCE + 1)]
    assert [each.keys for each in repair_of(compared(), many).rereadings] == [KEYS_AT_ONCE, 1]
    pairs = [difference(Fault.MISSING, n, "a") for n in range(MOST_SIGNALS + 1)]
    refused = repair_of(compared(key=("id", "card")), pairs)
    assert refused.rereadings == ()
    assert "incremental snapshot of the table" in refused.refused[0]


def test_rows_that_the_source_lacks_go_as_they_were_judged():
    extra = difference(Fault.EXTRA, places=("0001/shop/0/7",))
    repair = repair_of(compared(), [extra, difference(Fault.REPEATED, 3)])
    assert repair.removal is not None
    assert repair.removal.rows == {(extra.digest, "0001/shop/0/7")}
    assert [each.keys for each in repair.rereadings] == [1]


def test_what_has_no_key_that_can_be_named_is_refused_with_what_to_do():
    found = [difference(Fault.MISSING, 1)]
    assert "rebuild" in repair_of(compared(key=()), found).refused[0]
    assert "condition on Taken" in repair_of(compared(key=("Taken",)), found).refused[0]
    assert repair_of(compared(), []) == Repair()


@pytest.mark.parametrize("connector", ["db2", "oracle", "sqlserver"])
def test_a_database_that_is_not_read_is_refused_with_what_to_do(connector, tmp_path):
    source = parse_source(f'connector = "{connector}"\ntopic_prefix = "erp"\n', "erp")
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match=f"{connector}.*mariadb, mysql, postgresql only.*tables"):
        source_database(source, settings)


def test_a_login_that_nobody_says_is_asked_for(tmp_path):
    source = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match="expected LAKEHOUSE_DATABASE as a JSON object"):
        source_database(source, settings)
