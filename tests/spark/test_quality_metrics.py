"""Metrics from real tables: each fault is found, in a number of jobs that does not grow."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from expectations import SUITES
from lakehouse.config import SourceConfig, parse_source
from lakehouse.config.rules import OwnRule
from lakehouse.plan.handover import StagedTable
from lakehouse.quality.broken_rules import measure_what_can_be
from lakehouse.quality.column_facts import ColumnFacts
from lakehouse.quality.judgement import Finding, Verdict, judge, verdict_of
from lakehouse.quality.landed import LandedRanges, landed_ranges
from lakehouse.quality.metrics import Scope, measure
from lakehouse.quality.own_suites import judge_own
from lakehouse.quality.published import published_targets
from lakehouse.quality.reference_rows import with_comparable_references
from lakehouse.quality.samples import find_samples
from lakehouse.quality.staged import Reference, targets
from lakehouse.spark.sql import messages_query
from tests.spark.quality_tables import (
    STARTED,
    Row,
    append_staged,
    base_of,
    cut_of,
    head_of,
    land_row,
    stage,
    topic_of,
    write_bronze,
)

PUBLISHED = (Row(1, 10), Row(2, 20), Row(3, 30))
STAGED = (Row(2, 110), Row(4, 120))
NOTHING = LandedRanges((), "run", STARTED)


def source_of(name: str) -> SourceConfig:
    return parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)


def findings_of(
    spark: SparkSession,
    source: str,
    staged: Sequence[StagedTable],
    scope: Scope = Scope.CHANGE,
) -> tuple[Finding, ...]:
    """What the suite finds, which is the same when tables are read whole and by their keys."""
    names = [table.identity[2] for table in staged]
    cut, base = cut_of(source, names, staged), base_of(spark, source, names, staged)
    # Nothing in `qty` can be outside of what its type holds, here and in the source.
    ranges = {"id": (0, 255), "qty": (-(2**31), 2**31 - 1)}
    facts = {table.identity[1:]: ColumnFacts(ranges) for table in staged}
    found = targets(source_of(source), cut, base, facts)
    silver, _ = measure(spark, source, found, NOTHING, scope)
    by_keys, _ = measure(spark, source, found, NOTHING, scope, whole_up_to=0)
    assert by_keys == silver
    findings = judge(SUITES["silver"], silver).findings
    samples = find_samples(spark, source, found, NOTHING, findings, scope)
    assert {rule for _, rule in samples} == failed(findings) - COUNTS
    return findings


def failed(findings: Sequence[Finding]) -> set[str]:
    return {finding.rule.name for finding in findings if not finding.success}


def observed(findings: Sequence[Finding], rule: str) -> dict[str, int | str | None]:
    return next(dict(f.observed) for f in findings if f.rule.name == rule)


@pytest.mark.parametrize("scope", Scope)
def test_rows_as_apply_left_them_pass(spark: SparkSession, scope: Scope) -> None:
    staged = stage(spark, f"q_good_{scope}", "orders", PUBLISHED, STAGED)

    findings = findings_of(spark, f"q_good_{scope}", [staged], scope)

    assert failed(findings) == set()
    assert observed(findings, "row_count_equals_rows_expected")["row_count"] == 4
    assert observed(findings, "changed_rows_equals_upserts")["changed_rows"] == 2


BAD_ROWS = {
    "a key of the batch twice": (Row(4, 121), {"no_duplicate_keys"}),
    "an old row beside its new one": (Row(2, 20), {"no_duplicate_keys"}),
    "a key that is null": (Row(None, 130), {"no_null_keys"}),
    "the placeholder as text": (Row(5, 130, name="__debezium_unavailable_value"), set()),
    "the placeholder as bytes": (Row(5, 130, photo=b"__debezium_unavailable_value"), set()),
    "the placeholder in an array": (Row(5, 130, tags=("__debezium_unavailable_value",)), set()),
    "a row without position": (Row(5, 130, position=""), {"no_missing_positions"}),
    "a row behind the cut": (Row(5, 200), {"no_rows_outside_cut"}),
    "a required value that is null": (Row(5, 130, name=None), {"no_nulls_in_required"}),
    "a number that the source cannot hold": (Row(-1, 130), {"no_values_out_of_range"}),
}
COUNTS = {"row_count_equals_rows_expected", "changed_rows_equals_upserts"}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_is_found(spark: SparkSession, case: str) -> None:
    row, rules = BAD_ROWS[case]
    source = f"q_bad_{list(BAD_ROWS).index(case)}"
    staged = stage(spark, source, "orders", PUBLISHED, STAGED)
    staged = append_staged(spark, staged, row)

    found = failed(findings_of(spark, source, [staged]))

    expected = rules or {"no_placeholder_values"}
    assert expected <= found
    assert found - expected <= COUNTS
    assert "row_count_equals_rows_expected" in found


def test_a_key_that_returns_to_an_older_version_is_found(spark: SparkSession) -> None:
    older = Row(2, 110, position="0000000019")
    staged = stage(spark, "q_back", "orders", PUBLISHED, [older])

    assert failed(findings_of(spark, "q_back", [staged])) == {"no_positions_going_back"}


def test_a_lost_row_is_found(spark: SparkSession) -> None:
    staged = stage(spark, "q_lost", "orders", PUBLISHED, STAGED)

    findings = findings_of(spark, "q_lost", [replace(staged, rows=5, upserts=3)])

    assert failed(findings) == COUNTS


def test_a_new_table_is_judged_as_a_whole(spark: SparkSession) -> None:
    staged = stage(spark, "q_new", "orders", (), [Row(1, 1), Row(2, 2), Row(2, 3)])
    cut, base = cut_of("q_new", ["orders"], [staged]), base_of(spark, "q_new", ["orders"], [])

    found = targets(source_of("q_new"), cut, base)
    silver, _ = measure(spark, "q_new", found, NOTHING)

    assert found[0].is_new
    assert failed(judge(SUITES["silver"], silver).findings) == {
        "no_duplicate_keys",
        "row_count_equals_rows_expected",
    }


def test_a_table_that_lost_its_last_row_is_judged(spark: SparkSession) -> None:
    staged = stage(spark, "q_empty", "orders", (), ())

    findings = findings_of(spark, "q_empty", [replace(staged, rows=0)])

    assert failed(findings) == set()
    assert observed(findings, "row_count_equals_rows_expected")["row_count"] == 0


def test_all_rows_of_a_published_cut_are_judged(spark: SparkSession) -> None:
    published = (*PUBLISHED, Row(3, 40), Row(6, 50, name=None))
    staged = stage(spark, "q_full", "orders", published, ())
    table = replace(staged, snapshot=head_of(spark, staged.silver, "main"), rows=5)
    found = published_targets(source_of("q_full"), [table], {}, STARTED)

    silver, _ = measure(spark, "q_full", found, NOTHING, Scope.FULL)
    findings = judge(SUITES["silver"], silver).findings

    assert failed(findings) == {"no_duplicate_keys", "no_nulls_in_required"}
    samples = find_samples(spark, "q_full", found, NOTHING, findings, Scope.FULL)
    assert {rule: [row.key for row in rows] for (_, rule), rows in samples.items()} == {
        "no_duplicate_keys": ['{"id":3}'],
        "no_nulls_in_required": ['{"id":6}'],
    }


def test_the_number_of_jobs_grows_with_nothing(spark: SparkSession) -> None:
    one = [stage(spark, "q_jobs", "a", PUBLISHED, STAGED)]
    more = [*one, *(stage(spark, "q_jobs", name, PUBLISHED, STAGED) for name in "bcd")]
    context = spark.sparkContext

    def jobs(staged: Sequence[StagedTable], whole_up_to: int, rules: int = 0, keys: int = 0) -> int:
        names = [table.identity[2] for table in staged]
        cut, base = cut_of("q_jobs", names, staged), base_of(spark, "q_jobs", names, staged)
        group = f"jobs-{len(staged)}-{whole_up_to}-{rules}-{keys}"
        context.setJobGroup(group, "metrics")
        own = tuple(
            OwnRule(name=f"rule_{number}", description="A.", violated=f"id = -{number} -- none")
            for number in range(rules)
        )
        found = targets(source_of("q_jobs"), cut, base)
        other = found[-1]
        to = Reference(("id",), other.silver, other.relation, ("id",), other.table.rows)
        found = tuple(replace(each, rules=own, references=(to,) * keys) for each in found)
        measure(spark, "q_jobs", found, NOTHING, whole_up_to=whole_up_to)
        return len(context.statusTracker().getJobIdsForGroup(group))

    assert jobs(one, 1000) == jobs(more, 1000) == jobs(more, 1000, rules=20, keys=3) == 1
    by_keys = jobs(one, 0)
    assert 0 < by_keys == jobs(more, 0) == jobs(more, 0, rules=20)
    # References read what the batch refers to, all in one more job.
    assert jobs(one, 0, keys=1) == jobs(more, 0, rules=20, keys=3) == by_keys + 1


def test_a_rule_that_cannot_be_computed_fails_alone_and_says_why(spark: SparkSession) -> None:
    staged = [stage(spark, "q_broken", "orders", PUBLISHED, STAGED)]
    cut, base = (
        cut_of("q_broken", ["orders"], staged),
        base_of(spark, "q_broken", ["orders"], staged),
    )
    (target,) = targets(source_of("q_broken"), cut, base)
    rules = tuple(
        OwnRule(name=name, description="A.", violated=violated, severity=severity)
        for name, violated, severity in (
            ("text_as_number", "name < 3", "warning"),
            ("list_as_number", "tags < 3", "critical"),
            ("by_itself", "name = 'none'", "critical"),
        )
    )
    with_rules = [replace(target, rules=rules)]

    told, (measured, _) = measure_what_can_be(spark, "q_broken", with_rules, NOTHING)
    (own,) = judge_own({target.silver: rules}, measured)

    verdicts = {finding.rule.name: finding.verdict for finding in own.findings}
    assert verdicts == {
        "text_as_number": Verdict.WARNING,
        "list_as_number": Verdict.FAILED,
        "by_itself": Verdict.PASSED,
    }
    assert observed(own.findings, "text_as_number") == {
        "rule_text_as_number": None,
        "rule_text_as_number_note": "its condition cannot be computed for the table's rows "
        "(CAST_INVALID_INPUT): name < 3: expected values of the columns' own types; compare like "
        "with like, or use try_cast",
    }
    assert "DATATYPE_MISMATCH" in told[0].broken["list_as_number"]
    assert find_samples(spark, "q_broken", told, NOTHING, own.findings, Scope.CHANGE) == {}
    silver = judge(SUITES["silver"], measured).findings
    assert verdict_of(silver) is Verdict.PASSED, "the other expectations are judged as ever"


def test_rows_that_refer_to_nothing_are_found(spark: SparkSession) -> None:
    parents = [Row(1, 10), Row(2, 20)]
    customers = stage(spark, "q_refs", "customers", parents, [Row(4, 110)])
    orders = stage(spark, "q_refs", "orders", [Row(9, 30)], [Row(n, 110 + n) for n in (1, 4, 5)])
    staged = [customers, orders]
    cut = cut_of("q_refs", ["customers", "orders"], staged)
    base = base_of(spark, "q_refs", ["customers", "orders"], staged)
    parent, child = targets(source_of("q_refs"), cut, base)
    # Of names none is missing; a number and a text are not compared.
    references = tuple(
        Reference((mine,), parent.silver, parent.relation, (other,), 3)
        for mine, other in (("ID", "id"), ("name", "name"), ("id", "name"))
    )
    found = with_comparable_references(spark, [parent, replace(child, references=references)])
    kinds = "id is bigint and name is string, which cannot be compared"
    assert found[1].not_judged == (f"foreign key id → {parent.silver}: {kinds}",)
    measured = [measure(spark, "q_refs", found, NOTHING, whole_up_to=n)[0] for n in (1000, 0)]
    findings = judge(SUITES["silver"], measured[0]).findings

    assert measured[0] == measured[1]
    (finding,) = (each for each in findings if each.rule.name == "no_dangling_references")
    assert (finding.subject, finding.verdict) == (child.silver, Verdict.WARNING)
    assert finding.observed == {
        "dangling_references": 1,
        "dangling_references_note": f"ID → {parent.silver} (id): 1",
    }
    samples = find_samples(spark, "q_refs", found, NOTHING, [finding], Scope.CHANGE)
    assert [row.key for rows in samples.values() for row in rows] == ['{"id":5}']


def test_a_published_cut_is_judged_by_its_references_and_by_limits_of_the_whole_table(
    spark: SparkSession,
) -> None:
    customers = stage(spark, "q_whole", "customers", [Row(1, 10), Row(2, 20)], ())
    rows = [Row(1, 10), Row(5, 20), Row(6, 30, op="r"), Row(7, 40, op="d")]
    orders = stage(spark, "q_whole", "orders", rows, ())
    source = parse_source(
        'connector = "postgresql"\ntopic_prefix = "q_whole"\n[[tables."public.orders".rules]]\n'
        'name = "small"\ndescription = "Few."\nviolated = "id > 4"\nat_most = 2\n',
        "q_whole",
    )

    def judged(judged_at: datetime) -> dict[str, set[str]]:
        """Failing rule → the keys of its rows."""
        parent, child = published_targets(source, [customers, orders], {}, judged_at)
        to = Reference(("id",), parent.silver, parent.relation, ("id",), 2)
        found = [parent, replace(child, references=(to,))]
        silver, _ = measure(spark, "q_whole", found, NOTHING, Scope.FULL, whole_up_to=0)
        suites = (judge(SUITES["silver"], silver), *judge_own({child.silver: child.rules}, silver))
        findings = [each for suite in suites for each in suite.findings]
        wanted = [f for f in findings if f.rule.name in ("no_dangling_references", "small")]
        samples = find_samples(spark, "q_whole", found, NOTHING, wanted, Scope.FULL)
        return {rule: {row.key for row in rows} for (_, rule), rows in samples.items()}

    small = {'{"id":5}', '{"id":6}', '{"id":7}'}
    assert judged(STARTED) == {"no_dangling_references": {'{"id":5}'}, "small": small}
    # What a source snapshot read long ago has what it refers to.
    assert judged(STARTED + timedelta(days=2)) == {
        "no_dangling_references": {'{"id":5}', '{"id":6}'},
        "small": small,
    }


def test_rules_of_a_person_are_counted_in_the_same_pass(spark: SparkSession) -> None:
    rules = (
        OwnRule(name="small", description="Few.", violated="id > 3", at_most=1),
        OwnRule(name="named", description="Named.", violated="name IS NULL OR length(name) > 3"),
        OwnRule(name="gone", description="There.", violated="no_column = 1"),
    )
    staged = stage(spark, "q_rules", "orders", PUBLISHED, (*STAGED, Row(5, 130, name="long")))
    cut, base = (
        cut_of("q_rules", ["orders"], [staged]),
        base_of(spark, "q_rules", ["orders"], [staged]),
    )
    (target,) = targets(source_of("q_rules"), cut, base)
    measured = [
        measure(spark, "q_rules", [replace(target, rules=rules)], NOTHING, whole_up_to=size)[0]
        for size in (1000, 0)
    ]
    counts = {name: measured[0][0].values[f"rule_{name}"] for name in ("small", "named", "gone")}

    assert measured[0] == measured[1]
    assert counts == {"small": 2, "named": 1, "gone": 3}
    (judgement,) = judge_own({staged.silver: rules}, measured[0])
    assert failed(judgement.findings) == {"small", "named", "gone"}


def test_rules_about_all_rows_are_judged_over_a_published_cut(spark: SparkSession) -> None:
    rows = [Row(n, 10 + n, name="ab"[n % 2]) for n in range(4)]
    rows += [Row(8, 30, name=None), Row(9, 40, name="a", op="d")]
    orders = stage(spark, "q_all", "orders", rows, ())
    rules = (
        OwnRule(name="names", description="A.", unique=("Name",)),
        OwnRule(name="gone", description="A.", unique=("id", "no_column"), at_most=9),
        OwnRule(name="few", description="A.", rows=True, at_most=4),
        OwnRule(name="many", description="A.", rows=True, at_least=5),
        OwnRule(name="share", description="A.", violated="id > 1", at_most_percent=60),
        OwnRule(name="low_share", description="A.", violated="id > 1", at_most_percent=79.9),
    )
    (whole,) = published_targets(source_of("q_all"), [orders], {}, STARTED)
    found = [replace(whole, rules=rules)]

    silver, _ = measure(spark, "q_all", found, NOTHING, Scope.FULL)
    (judgement,) = judge_own({orders.silver: rules}, silver)

    counts = {rule.name: silver[0].values[f"rule_{rule.name}"] for rule in rules}
    # Of five live rows and a deleted one, which counts where a condition is all that is said.
    assert counts == {"names": 2, "gone": 6, "few": 5, "many": 5, "share": 1, "low_share": 1}
    assert failed(judgement.findings) == {"names", "few", "share", "low_share"}
    samples = find_samples(spark, "q_all", found, NOTHING, judgement.findings, Scope.FULL)
    keys = {rule: {row.key for row in rows} for (_, rule), rows in samples.items()}
    assert keys["names"] == {f'{{"id":{n}}}' for n in range(4)}
    assert keys["share"] == {f'{{"id":{n}}}' for n in (2, 3, 8, 9)}
    assert "few" not in keys


def test_rows_that_fail_are_named_with_their_messages(spark: SparkSession) -> None:
    older = Row(2, 110, position="0000000019")
    staged = stage(spark, "q_named", "orders", PUBLISHED, [older])
    for row in (Row(4, 120, name=None), Row(4, 121), Row(None, 130), Row(5, 200)):
        staged = append_staged(spark, staged, row)
    cut, base = (
        cut_of("q_named", ["orders"], [staged]),
        base_of(spark, "q_named", ["orders"], [staged]),
    )
    found = targets(source_of("q_named"), cut, base)
    silver, _ = measure(spark, "q_named", found, NOTHING)
    findings = judge(SUITES["silver"], silver).findings

    samples = find_samples(spark, "q_named", found, NOTHING, findings, Scope.CHANGE)

    topic = topic_of("q_named", "orders")
    assert {
        rule: {(row.key, tuple(offset for _, _, offset in row.messages)) for row in rows}
        for (_, rule), rows in samples.items()
    } == {
        "no_duplicate_keys": {('{"id":4}', (120, 121))},
        "no_null_keys": {('{"id":null}', (130,))},
        "no_nulls_in_required": {('{"id":4}', (120,))},
        "no_positions_going_back": {('{"id":2}', (110, 20))},
        "no_rows_outside_cut": {('{"id":5}', (200,))},
    }
    assert {place[0] for rows in samples.values() for row in rows for place in row.messages} == {
        topic
    }
    assert find_samples(spark, "q_named", found, NOTHING, (), Scope.CHANGE) == {}


LANDED = [(topic, 0, offset) for topic in ("q.public.a",) for offset in (100, 120, 199)]


def bronze_findings(
    spark: SparkSession, source: str, messages: Sequence[tuple[str | None, int, int | None]]
) -> tuple[LandedRanges, tuple[Finding, ...]]:
    write_bronze(spark, source, messages)
    rows = [
        land_row(source, ["a"], 100, "earlier", 1),
        replace(
            land_row(source, ["a"], 200, "run", 5),
            counts=json.dumps({"topics": {topic_of(source, "a"): {"0": 3}}}),
        ),
    ]
    landed = landed_ranges(rows, "run", STARTED)
    _, bronze = measure(spark, source, (), landed)
    return landed, judge(SUITES["bronze"], bronze).findings


def bronze_failed(
    spark: SparkSession, source: str, messages: Sequence[tuple[str | None, int, int | None]]
) -> set[str]:
    _, findings = bronze_findings(spark, source, messages)
    # None of the ranges has a message for each offset.
    return failed(findings) - {"no_missing_offsets"}


BRONZE = {
    "good": ([100, 120, 199], set()),
    "an offset twice": (
        [100, 120, 120, 199],
        {"no_duplicate_offsets", "messages_equals_messages_landed"},
    ),
    "a message before the range": ([99, 120, 199], {"range_start_within_first_offset"}),
    "a message behind the range": ([100, 120, 200], {"next_offset_within_range_end"}),
    "a message too few": ([100, 199], {"messages_equals_messages_landed"}),
    "no timestamp": ([100, 150, 199], {"no_missing_timestamps"}),
    "a time to come": ([100, 151, 199], {"no_future_timestamps"}),
    "a time long gone": ([100, 152, 199], {"no_ancient_timestamps"}),
}


@pytest.mark.parametrize("case", BRONZE)
def test_faults_of_landed_messages_are_found(spark: SparkSession, case: str) -> None:
    numbers, rules = BRONZE[case]
    source = f"q_bronze_{list(BRONZE).index(case)}"
    topic = topic_of(source, "a")

    assert bronze_failed(spark, source, [(topic, 0, number) for number in numbers]) == rules


def test_offsets_without_a_message_are_told_and_are_no_fault(spark: SparkSession) -> None:
    topic = topic_of("q_bronze_gaps", "a")

    _, findings = bronze_findings(spark, "q_bronze_gaps", [(topic, 0, n) for n in (100, 103, 199)])

    assert observed(findings, "no_missing_offsets")["missing_offsets"] == 97
    assert verdict_of(findings) is Verdict.PASSED


def test_landed_messages_that_fail_are_named_and_their_query_finds_them(
    spark: SparkSession,
) -> None:
    source = "q_bronze_named"
    topic = topic_of(source, "a")
    numbers = [99, 100, 120, 120, 150, 200]
    landed, findings = bronze_findings(spark, source, [(topic, 0, n) for n in numbers])

    samples = find_samples(spark, source, (), landed, findings, Scope.CHANGE)

    places = {
        rule: [place for row in rows for place in row.messages]
        for (_, rule), rows in samples.items()
    }
    assert places == {
        "no_duplicate_offsets": [(topic, 0, 120)],
        "range_start_within_first_offset": [(topic, 0, 99)],
        "next_offset_within_range_end": [(topic, 0, 200)],
        "no_missing_timestamps": [(topic, 0, 150)],
    }
    shown = spark.sql(messages_query(source, places["no_duplicate_offsets"])).collect()
    # All of them have one event key.
    assert [row["offset"] for row in shown] == sorted(numbers)


def test_a_message_without_a_topic_is_found(spark: SparkSession) -> None:
    topic = topic_of("q_bronze_null", "a")
    messages = [(topic, 0, 100), (topic, 0, 110), (topic, 0, 120), (None, 0, 5)]

    assert "no_missing_coordinates" in bronze_failed(spark, "q_bronze_null", messages)
