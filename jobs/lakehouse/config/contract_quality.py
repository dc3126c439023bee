"""The quality rules of a data contract: metrics of its library, and counts in SQL.

In: a rule of an object or of one of its properties. Out: a rule as a TOML file would write it, or
why there is none.
https://bitol-io.github.io/open-data-contract-standard/latest/data-quality/
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from lakehouse.config.contract_values import Document, literal, literals, rule
from lakehouse.names import quote_ident

_COUNT = re.compile(
    r"(?is)\s*select\s+count\s*\(\s*(?:\*|1)\s*\)\s+from\s+\S+(?:\s+where\s+(.+?))?;?\s*"
)
# Of version 3.0 → as the library has it since.
_METRICS = {
    "nullCheck": "nullValues",
    "validValues": "invalidValues",
    "duplicateCount": "duplicateValues",
    "uniqueCheck": "duplicateValues",
}


def quality_rule(given: Document, column: str, columns: Mapping[str, str]) -> Document | str | None:
    """The rule; a sentence where it cannot be judged, None where it is text for persons.

    Args:
        given: As the contract has it.
        column: The property's column; empty for a rule of the object.
        columns: Name of a property → its column.
    """
    kind = given.get("type", "library")
    if kind == "text":
        return None
    if kind == "custom":
        return f"a rule for the engine {given.get('engine')!r}"
    counted = _of_sql(given, column) if kind == "sql" else _of_library(given, column, columns)
    limits = _limits(given)
    if isinstance(counted, str) or isinstance(limits, str):
        return counted if isinstance(counted, str) else str(limits)
    said = str(given.get("name") or given.get("metric") or given.get("rule") or "rule")
    is_error = given.get("severity") in ("error", "critical")
    return rule(
        f"{column} {said}".strip(),
        str(given.get("description") or f"{column} {said}").strip(),
        **counted,
        **limits,
        severity="critical" if is_error else "warning",
    )


def _of_sql(given: Document, column: str) -> Document | str:
    found = _COUNT.fullmatch(str(given.get("query", "")))
    if found is None:
        return "a query other than SELECT COUNT(*) FROM … WHERE …"
    if found[1] is None:
        return {"rows": True}
    return {"violated": found[1].replace("{property}", quote_ident(column))}


def _of_library(given: Document, column: str, columns: Mapping[str, str]) -> Document | str:
    name = str(given.get("metric") or given.get("rule") or "")
    metric, arguments = _METRICS.get(name, name), given.get("arguments")
    said: Document = {**given, **(arguments if isinstance(arguments, Mapping) else {})}
    if metric == "rowCount":
        return {"rows": True}
    if metric == "duplicateValues":
        listed = said.get("properties")
        named = [str(each) for each in listed] if isinstance(listed, Sequence) else []
        among = [columns.get(each, each) for each in named] or ([column] if column else [])
        return {"unique": among} if among else "the properties that may not repeat are not named"
    found = _bad_value(metric, said, quote_ident(column)) if column else None
    return {"violated": found} if found else f"the metric {name!r} with these arguments is unknown"


def _bad_value(metric: str, said: Document, column: str) -> str | None:
    """The condition that is true for a bad value."""
    if metric == "nullValues":
        return f"{column} IS NULL"
    if metric == "missingValues" and (missing := literals(said.get("missingValues") or [])):
        return f"{column} IS NULL OR {column} IN ({missing})"
    if metric == "missingValues" and said.get("missingValues"):
        return f"{column} IS NULL"
    if metric == "invalidValues":
        valid, pattern = literals(said.get("validValues") or []), said.get("pattern")
        tests = [f"{column} NOT IN ({valid})"] if valid else []
        tests += [f"NOT {column} RLIKE {literal(pattern)}"] if pattern else []
        return " OR ".join(tests) or None
    return None


def _limits(given: Document) -> Document | str:
    """How much of what is counted there may be; a sentence where a limit is none."""
    unit = given.get("unit", "rows")
    if unit not in ("rows", "percent"):
        return f"the unit {unit!r}"
    found = _interval(given, whole=unit == "rows")
    if isinstance(found, str):
        return found
    low, high = found
    if high < max(low, 0) or (low <= 0 and high == math.inf):
        return "limits that no count, or every one, keeps to"
    if unit == "percent":
        return {"at_most_percent": high} if low <= 0 else "a share that rows must have at least"
    least: Document = {"at_least": math.ceil(low)} if low > 0 else {}
    return {**least, "at_most": math.floor(high)} if high < math.inf else least


def _interval(given: Document, *, whole: bool) -> tuple[float, float] | str:
    """The least and the greatest number that all operators of a rule allow."""
    low, high = 0.0, math.inf
    operators = [name for name in given if name.startswith("must")]
    for name in operators:
        value = given[name]
        pair = value if isinstance(value, list) and len(value) == 2 else [value, value]
        numbers = [float(n) for n in pair if isinstance(n, int | float) and n is not True]
        if len(numbers) < len(pair):
            return f"{name}: {value!r:.40}: no number"
        bounds = _bounds(name, numbers[0], numbers[1], whole=whole)
        if bounds is None:
            return f"{name}: {value!r:.40}: no limit from below or above"
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return (low, high) if operators else "no operator such as mustBe"


def _bounds(operator: str, first: float, last: float, *, whole: bool) -> tuple[float, float] | None:
    """The least and the greatest number that an operator allows; None where these are not all."""
    above = math.floor(first) + 1 if whole else math.nextafter(first, math.inf)
    below = math.ceil(first) - 1 if whole else math.nextafter(first, -math.inf)
    known = {
        "mustBe": (first, first),
        "mustBeBetween": (first, last),
        "mustBeGreaterThan": (above, math.inf),
        "mustBeGreaterOrEqualTo": (first, math.inf),
        "mustBeLessThan": (-math.inf, below),
        "mustBeLessOrEqualTo": (-math.inf, first),
    }
    if operator == "mustNotBe" and first == 0:
        return (above, math.inf)
    return known.get(operator)
