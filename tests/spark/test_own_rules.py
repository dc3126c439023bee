"""Rules of a person, counted over small silver tables."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from lakehouse.config.rules import OwnRule
from lakehouse.quality.measuring.metrics import Scope, measure
from lakehouse.quality.measuring.own_suites import judge_own
from lakehouse.quality.measuring.published import published_targets
from lakehouse.quality.measuring.samples import find_samples
from lakehouse.quality.measuring.staged import targets
from tests.spark.quality_findings import NOTHING, PUBLISHED, STAGED, failed, source_of
from tests.spark.quality_tables import STARTED, Row, base_of, cut_of, stage


def test_rules_of_a_person_are_counted_in_the_same_pass(spark: SparkSession) -> None:
    rules = (
        OwnRule(name="small", description="Few.", violated="id > 3", at_most=1),
        OwnRule(name="named", description="Named.", violated="name IS NULL OR length(name) > 3"),
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
    counts = {name: measured[0][0].values[f"rule_{name}"] for name in ("small", "named")}

    assert measured[0] == measured[1]
    assert counts == {"small": 2, "named": 1}
    (judgement,) = judge_own({staged.silver: rules}, measured[0])
    assert failed(judgement.findings) == {"small", "named"}


def test_rules_about_all_rows_are_judged_over_a_published_cut(spark: SparkSession) -> None:
    rows = [Row(n, 10 + n, name="ab"[n % 2]) for n in range(4)]
    rows += [Row(8, 30, name=None), Row(9, 40, name="a", op="d")]
    orders = stage(spark, "q_all", "orders", rows, ())
    rules = (
        OwnRule(name="names", description="A.", unique=("Name",)),
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
    assert counts == {"names": 2, "few": 5, "many": 5, "share": 1, "low_share": 1}
    assert failed(judgement.findings) == {"names", "few", "share", "low_share"}
    samples = find_samples(spark, "q_all", found, NOTHING, judgement.findings, Scope.FULL)
    keys = {rule: {row.key for row in rows} for (_, rule), rows in samples.items()}
    assert keys["names"] == {f'{{"id":{n}}}' for n in range(4)}
    assert keys["share"] == {f'{{"id":{n}}}' for n in (2, 3, 8, 9)}
    assert "few" not in keys
