"""Rows that a comparison found to be gone from the source, taken out of silver as a repair does."""

from __future__ import annotations

from dataclasses import replace

from lakehouse.names import TableIdentity
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.reconciling.repair import Removal
from lakehouse.plan.reconciling.tables import ComparedColumn, ComparedTable
from lakehouse.spark.rewriting.reconciling import PLACE
from lakehouse.spark.tables import full_name
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.runner import execute
from tests.support.rebuilds import silver
from tests.support.runs import Runs


def take_out(runs: Runs, table: str, *numbers: int) -> dict[str, StepOutcome]:
    """Take the rows with these numbers out of a table whose key is `id`, in a cut of their own."""
    name, cut = silver(runs, table), runs.ledger.newest_cut(runs.source.name)
    compared = ComparedTable(
        title=f"public.{table}",
        identity=TableIdentity.of(identities_of(cut)[name]),
        silver=name,
        columns=(ComparedColumn("id", "id", "integer"),),
        key=1,
    )
    stored = runs.spark.table(full_name(name)).selectExpr("id", f"{PLACE.format('_cdc')} AS place")
    rows = frozenset(
        (compared.key_digest(compared.texts([row["id"]], of_silver=True)), row["place"])
        for row in stored.collect()
        if row["id"] in numbers
    )
    context = replace(runs.context(), removals=(Removal(compared, rows),))
    return {step: execute(step, context) for step in ("apply", "validate", "publish")}
