"""Rules of persons that Spark cannot compute for the rows that are there.

In: tables with their rules. Out: the same with why some of these are broken, such as one about a
column that is not there, or a bound on one of another type. One pass counts for all tables, so that
one such rule would take the verdicts of all; conditions are tried one by one only after that has
happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakehouse.config.rules import OwnRule, read_columns
from lakehouse.names import near_name
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metrics import Scope, measure, session_for, silver_rows
from lakehouse.quality.measuring.own_suites import rule_metric
from lakehouse.quality.measuring.reference_rows import types_of
from lakehouse.quality.measuring.silver_rows import SilverRows
from lakehouse.quality.measuring.staged import Target

Measured = tuple[tuple[Measurement, ...], tuple[Measurement, ...]]
_FAILURES = (PySparkException, Py4JJavaError)
# Classes of SQLSTATE: data exceptions, and statements that mean nothing.
_OF_THE_RULE = ("22", "42")


def measure_what_can_be(
    spark: SparkSession,
    source: str,
    targets: Sequence[Target],
    landed: LandedRanges,
    scope: Scope = Scope.CHANGE,
) -> tuple[tuple[Target, ...], Measured]:
    """Measure everything in one pass, and again without the rules that make it fail.

    Args:
        spark: Its catalog and configuration are used, in a session of its own.
        source: The source's name.
        targets: The staged tables.
        landed: What the run landed.
        scope: Which rows are judged.

    Returns:
        The tables, of which broken rules are known, and their measurements.

    Raises:
        PySparkException: It fails for another reason than a rule.
        Py4JJavaError: The same.
    """
    known = tuple(_without_absent_columns(spark, target) for target in targets)
    try:
        return known, measure(spark, source, known, landed, scope)
    except _FAILURES:
        session = session_for(spark, known, landed)
        told = tuple(_with_broken_rules(session, target, scope) for target in known)
        if told == known:
            raise
        return told, measure(spark, source, told, landed, scope)


def _without_absent_columns(spark: SparkSession, target: Target) -> Target:
    """With the rules about columns that the table does not have as broken."""
    if not target.rules:
        return target
    columns = tuple(types_of(spark, target.relation))
    broken = {rule.name: why for rule in target.rules for why in _absent(rule, columns)}
    return replace(target, broken=broken)


def _absent(rule: OwnRule, columns: Sequence[str]) -> Iterator[str]:
    known = {name.lower() for name in columns}
    named = (*read_columns(rule.condition), *rule.unique)
    if absent := [name for name in named if name.lower() not in known]:
        near = near_name(absent[0], columns)
        hint = f"did you mean {near!r}?" if near else "expected one of silver"
        yield f"the table has no column {absent[0]!r}: {rule.told}: {hint}"


def _with_broken_rules(session: SparkSession, target: Target, scope: Scope) -> Target:
    if not target.rules:
        return target
    rows = silver_rows(session, target, scope)
    tried = (rule for rule in target.rules if rule.name not in target.broken)
    broken = {rule.name: why for rule in tried for why in _why(session, rows, rule)}
    return replace(target, broken={**target.broken, **broken})


def _why(session: SparkSession, rows: SilverRows, rule: OwnRule) -> Iterator[str]:
    """Why a rule cannot be computed, without a value of a row; nothing where it can."""
    test = rows.row.rule_tests[rule_metric(rule.name)]
    hashed = rows.unique_hash(rule)
    query = (
        f"SELECT sum({test}), max({hashed}) FROM {rows.target.relation} WHERE {rows.row.is_judged}"
    )
    try:
        session.sql(query).collect()
    except PySparkException as failure:
        # Anything else says nothing of the rule.
        if (failure.getSqlState() or "")[:2] not in _OF_THE_RULE:
            raise
        yield (
            f"its condition cannot be computed for the table's rows "
            f"({failure.getCondition()}): {rule.told}: expected values of the columns' own types; "
            "compare like with like, or use try_cast"
        )
