"""The metrics of the suite `silver`, and of a table's own rules, from what Spark counted.

In: the tables, and a row of counts for each. Out: one measurement for each table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from pyspark.sql import Row

from lakehouse.config.rules import OwnRule
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.metric_rows import own_counts
from lakehouse.quality.measuring.own_suites import rule_metric
from lakehouse.quality.measuring.reference_rows import ReferenceRows
from lakehouse.quality.measuring.silver_rows import unique_subject
from lakehouse.quality.measuring.staged import Target

_BACK = "positions_going_back"
# What compares a batch with the cut before it.
_OF_BATCHES = ("upserts", "unresolved_placeholders", _BACK, "rows_outside_cut")
_SILVER = (
    "row_count",
    "changed_rows",
    "null_keys",
    "placeholder_values",
    "missing_positions",
    _BACK,
    "rows_outside_cut",
    "nulls_in_required",
    "values_out_of_range",
)


def silver_measurements(
    targets: Sequence[Target],
    landed: LandedRanges,
    rows: Mapping[str, Row],
    referring: Sequence[ReferenceRows],
    back: Mapping[str, int],
) -> tuple[Measurement, ...]:
    """The metrics of each table.

    Args:
        targets: The tables.
        landed: What the run landed.
        rows: By subject what Spark counted.
        referring: Their references that are judged.
        back: Silver table → rows with an older version than their key had before.
    """
    dangling = _dangling(referring, rows)
    return tuple(
        _measurement(each, measured, landed, dangling.get(each.silver), _repeated(each, rows))
        for each in targets
        for measured in [{**_counts(rows.get(each.silver)), _BACK: back.get(each.silver, 0)}]
    )


def _counts(row: Row | None) -> dict[str, int]:
    # A table whose last row is gone has no row here: all its counts are 0.
    return row.asDict() if row is not None else {}


def _dangling(
    referring: Iterable[ReferenceRows], rows: Mapping[str, Row]
) -> dict[str, dict[str, int]]:
    """Silver table → reference → rows of the batch that refer to nothing."""
    found: dict[str, dict[str, int]] = {}
    for each in referring:
        row = rows.get(each.subject)
        count = int(row["dangling"]) if row is not None else 0
        found.setdefault(each.rows.target.silver, {})[each.label] = count
    return found


def _repeated(target: Target, rows: Mapping[str, Row]) -> dict[str, int]:
    """Rule → rows whose values in its columns another row has already."""
    found = {rule.name: rows.get(unique_subject(target.silver, rule)) for rule in target.rules}
    return {name: int(row["repeated"]) for name, row in found.items() if row is not None}


def _counted(
    rule: OwnRule, measured: Mapping[str, int], own: int, repeated: Mapping[str, int]
) -> int:
    """The rows that count by a rule of a person; of a share, those that are too many."""
    rows = measured.get("row_count", 0)
    count = rows if rule.rows else own + repeated.get(rule.name, 0)
    if rule.at_most_percent is None:
        return count
    # As written, not as the nearest binary fraction.
    allowed = Fraction(str(rule.at_most_percent)) * rows / 100
    return max(0, count - math.floor(allowed))


def _note(rule: OwnRule) -> str:
    if rule.unique:
        return f"rows that repeat {', '.join(rule.unique)}"
    what = "all rows" if rule.rows else f"rows with {rule.violated}"
    return what if rule.at_most_percent is None else f"{what}, as far as they are too many"


def _measurement(
    target: Target,
    measured: Mapping[str, int],
    landed: LandedRanges,
    dangling: Mapping[str, int] | None,
    repeated: Mapping[str, int],
) -> Measurement:
    table = target.table
    values: dict[str, int | None] = {name: measured.get(name, 0) for name in _SILVER}
    if table.key:
        values["duplicate_keys"] = measured.get("repeated", 0)
    else:
        values |= dict.fromkeys(("duplicate_keys", "null_keys", _BACK))
    values |= {
        "rows_expected": table.rows,
        "upserts": table.upserts,
        "unresolved_placeholders": sum(table.unresolved.values()),
        "lossy_columns": len(target.facts.lossy),
        "hours_behind": landed.hours_behind(measured.get("newest")),
    }
    if target.is_whole:
        values |= dict.fromkeys(_OF_BATCHES)
    own = zip(target.rules, own_counts(len(target.rules)), strict=True)
    values |= {
        rule_metric(rule.name): _counted(rule, measured, measured.get(name, 0), repeated)
        for rule, name in own
    }
    notes = {
        "unresolved_placeholders": ", ".join(sorted(table.unresolved)),
        "nulls_in_required": f"in one of {', '.join(table.required)}" if table.required else "",
        "duplicate_keys": ", ".join(table.key),
        "values_out_of_range": ", ".join(sorted(target.ranges)),
        "lossy_columns": "; ".join(target.facts.lossy),
        **{rule_metric(rule.name): _note(rule) for rule in target.rules},
    }
    broken = {rule_metric(name): why for name, why in target.broken.items()}
    values |= dict.fromkeys(broken)
    notes |= broken
    if dangling is not None:
        values["dangling_references"] = sum(dangling.values())
        told = (f"{label}: {count}" for label, count in dangling.items() if count)
        notes["dangling_references"] = "; ".join(told)
    return Measurement(table.silver, values, notes, frozenset(broken))
