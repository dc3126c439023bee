"""What the suites find in the small tables of `quality_tables`."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from expectations import SUITES
from lakehouse.config import SourceConfig, parse_source
from lakehouse.plan.cuts.handover import StagedTable
from lakehouse.quality.judgement import Finding, judge
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metrics import Scope, measure
from lakehouse.quality.measuring.samples import find_samples
from lakehouse.quality.measuring.staged import targets
from lakehouse.quality.schemas.column_facts import ColumnFacts
from tests.spark.quality_tables import STARTED, Row, base_of, cut_of

PUBLISHED = (Row(1, 10), Row(2, 20), Row(3, 30))
STAGED = (Row(2, 110), Row(4, 120))
# Rules about all rows name none.
COUNTS = {"row_count_equals_rows_expected", "changed_rows_equals_upserts"}
NOTHING = LandedRanges((), ("run",), STARTED)


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
