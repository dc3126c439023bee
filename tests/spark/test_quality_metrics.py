"""Metrics from real tables: each fault is found, in a number of jobs that does not grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from expectations import SUITES
from lakehouse.config import parse_source
from lakehouse.config.rules import OwnRule
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.quality.judgement import Verdict, judge, verdict_of
from lakehouse.quality.measuring.broken_rules import measure_what_can_be
from lakehouse.quality.measuring.metrics import Scope, measure
from lakehouse.quality.measuring.own_suites import judge_own
from lakehouse.quality.measuring.published import published_targets
from lakehouse.quality.measuring.reference_rows import with_comparable_references
from lakehouse.quality.measuring.samples import find_samples
from lakehouse.quality.measuring.staged import Reference, targets
from tests.spark.quality_findings import (
    COUNTS,
    NOTHING,
    PUBLISHED,
    STAGED,
    failed,
    findings_of,
    observed,
    source_of,
)
from tests.spark.quality_tables import (
    STARTED,
    Row,
    append_staged,
    base_of,
    cut_of,
    head_of,
    stage,
    topic_of,
)


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
            OwnRule(name=f"rule_{number}", description="A.", violated=f"id = -{number} - 1")
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
    # What the batch refers to is looked for with its own keys.
    assert jobs(one, 0, keys=1) == jobs(more, 0, rules=20, keys=3) == by_keys


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


def test_a_rule_about_a_column_that_is_not_there_fails_and_says_which_was_meant(
    spark: SparkSession,
) -> None:
    staged = [stage(spark, "q_absent", "orders", PUBLISHED, STAGED)]
    cut = cut_of("q_absent", ["orders"], staged)
    (target,) = targets(source_of("q_absent"), cut, base_of(spark, "q_absent", ["orders"], staged))
    rules = (
        OwnRule(name="slip", description="A.", violated="nam IS NULL", severity="warning"),
        OwnRule(name="other", description="A.", unique=("ID", "weight"), at_most=9),
        OwnRule(name="there", description="A.", violated="NAME = 'none'"),
    )

    (told,), (measured, _) = measure_what_can_be(
        spark, "q_absent", [replace(target, rules=rules)], NOTHING
    )
    (own,) = judge_own({target.silver: rules}, measured)

    assert told.broken == {
        "slip": "the table has no column 'nam': nam IS NULL: did you mean 'name'?",
        "other": "the table has no column 'weight': unique ID, weight: expected one of silver",
    }
    verdicts = {finding.rule.name: finding.verdict for finding in own.findings}
    assert (verdicts["slip"], verdicts["there"]) == (Verdict.WARNING, Verdict.PASSED)
    assert verdicts["other"] is not Verdict.PASSED
    assert find_samples(spark, "q_absent", [told], NOTHING, own.findings, Scope.CHANGE) == {}


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
