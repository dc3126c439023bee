"""Silver damaged in random places, as a fault of the pipeline would leave it in a cut."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lakehouse.plan.records import CUTS
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import head
from lakehouse.spark.tables import full_name

KINDS = ("missing", "extra", "stale", "decimal", "swapped")
# Keys from here on belong to a writer, who would heal them.
FREE = 50_000


@dataclass(frozen=True)
class Target:
    """A silver table whose key is one column of whole numbers, and what of it is damaged.

    Attributes:
        text: A column of text that is never null.
        decimal: A column of decimals.
    """

    silver: str
    key: str
    text: str
    decimal: str


def corrupt(
    spark: SparkSession, ledger: Ledger, source: str, targets: Iterable[Target], random: Random
) -> dict[str, dict[str, str]]:
    """Damage tables in random places, and let the newest cut have them so.

    Returns:
        Silver table → key as it is shown → the fault.
    """
    found = {target.silver: _corrupt(spark, target, random) for target in targets}
    cut = ledger.newest_cut(source)
    snapshots = {name: head(ledger.catalog, name).snapshot_id for name in found}
    tables = {**cut.tables, **snapshots}
    ledger.append(CUTS, [replace(cut, tables=tables, recorded_at=datetime.now(UTC))])
    return found


def _corrupt(spark: SparkSession, target: Target, random: Random) -> dict[str, str]:
    table = full_name(target.silver)
    rows = spark.table(table)
    keys = sorted(
        row[0] for row in rows.select(target.key).where(f"{target.key} < {FREE}").collect()
    )
    each = random.randint(1, 4)
    chosen = random.sample(keys, 6 * each)
    parts = {kind: chosen[n * each : (n + 1) * each] for n, kind in enumerate(KINDS[:4])}
    parts["swapped"] = chosen[4 * each :]
    damaged = _damaged(rows, target, parts)
    beyond = max(keys) + 1
    number = F.expr(f"CAST({target.key} + {beyond} AS {dict(rows.dtypes)[target.key]})")
    extra = rows.where(F.col(target.key).isin(parts["extra"])).withColumn(target.key, number)
    damaged = damaged.unionByName(extra)
    damaged.localCheckpoint().writeTo(table).overwrite(F.lit(True))
    faults = {
        **dict.fromkeys(parts["missing"], "missing"),
        **dict.fromkeys((key + beyond for key in parts["extra"]), "extra"),
        **dict.fromkeys((*parts["stale"], *parts["decimal"], *parts["swapped"]), "stale"),
    }
    return {f"{target.key}={key}": fault for key, fault in faults.items()}


def _damaged(rows: DataFrame, target: Target, parts: Mapping[str, list[int]]) -> DataFrame:
    kept = rows.where(~F.col(target.key).isin(parts["missing"]))
    pairs = parts["swapped"]
    partner = {pairs[n]: pairs[n ^ 1] for n in range(len(pairs))}
    cases = " ".join(f"WHEN {key} THEN {other}" for key, other in partner.items())
    exchanged = f"CASE {target.key} {cases} ELSE {target.key} END"
    values = {
        target.text: f"if({_is_in(target, parts['stale'])}, 'of yesterday', {target.text})",
        target.decimal: (
            f"if({_is_in(target, parts['decimal'])}, "
            f"coalesce({target.decimal}, 0) + 0.01, {target.decimal})"
        ),
        target.key: exchanged,
    }
    types = dict(rows.dtypes)
    return kept.selectExpr(
        *(
            f"CAST({values[name]} AS {types[name]}) AS {name}" if name in values else f"`{name}`"
            for name in rows.columns
        )
    )


def _is_in(target: Target, keys: Iterable[int]) -> str:
    return f"{target.key} IN ({', '.join(map(str, keys))})"
