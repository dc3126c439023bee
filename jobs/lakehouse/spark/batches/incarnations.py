"""Incarnations in a batch: which table of today each event belongs to.

In: envelopes and what the source's statements did to whole tables. Out: the same, with the names
and the number of the table of today, and `renamed` where the event has another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.connectors import Connector
from lakehouse.plan.schemas.incarnations import Incarnations, Life, Parts
from lakehouse.spark.sql import all_of, literal

_COLUMNS = {"database": "database", "schema_name": "schema_name", "table": "table_name"}


def with_incarnations(
    envelopes: DataFrame, connector: Connector, incarnations: Incarnations
) -> DataFrame:
    """Tell the events of a table from those of another one that had its name before."""
    envelopes = _with_turns(envelopes, connector, incarnations.turns)
    envelopes = _with_turns(envelopes, connector, incarnations.retyped(), "NOT has_schema")
    lives = list(incarnations.lives())
    if not lives:
        return envelopes
    targets = {
        _COLUMNS[part]: [literal(life.table[index]) for life in lives]
        for index, part in enumerate(connector.identity_parts)
    }
    targets["incarnation"] = [str(life.incarnation) for life in lives]
    targets["renamed"] = [str(life.table != life.parts).lower() for life in lives]
    conditions = [all_of(_is_of(connector, life)) for life in lives]
    changed = {name: F.expr(_cases(conditions, values, name)) for name, values in targets.items()}
    return envelopes.withColumns(changed)


def _cases(conditions: list[str], values: list[str], otherwise: str) -> str:
    cases = (f"WHEN {test} THEN {value}" for test, value in zip(conditions, values, strict=True))
    return f"CASE {' '.join(cases)} ELSE {otherwise} END"


def _with_turns(
    envelopes: DataFrame,
    connector: Connector,
    turns: Mapping[Parts, Sequence[str]],
    where: str = "true",
) -> DataFrame:
    """Tell a schema that came back from what it was before: each has a fingerprint of its own.

    So has what a statement makes of a table whose messages carry no schema.
    """
    cases = " ".join(
        f"WHEN {all_of((where, *_has_name(connector, parts), f'position > {literal(position)}'))} "
        f"THEN xxhash64(fingerprint, {literal(position)})"
        for parts, positions in sorted(turns.items())
        for position in reversed(positions)
    )
    if not cases:
        return envelopes
    own = f"if(fingerprint IS NULL, NULL, CASE {cases} ELSE fingerprint END)"
    return envelopes.withColumn("fingerprint", F.expr(own))


def _has_name(connector: Connector, parts: Parts) -> Iterator[str]:
    for part, text in zip(connector.identity_parts, parts, strict=True):
        yield f"{_COLUMNS[part]} = {literal(text)}"


def _is_of(connector: Connector, life: Life) -> Iterator[str]:
    yield from _has_name(connector, life.parts)
    yield f"coalesce(position, '') > {literal(life.behind)}" if life.behind else "true"
    if life.until is not None:
        yield f"coalesce(position, '') <= {literal(life.until)}"
