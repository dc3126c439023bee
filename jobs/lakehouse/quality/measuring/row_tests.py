"""What decides of one row of a staged silver table: whether it is judged, and what counts in it.

In: a target and the types of its columns. Out: conditions and sums of them as SQL, each about one
row and nothing beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakehouse.config.rules import OwnRule
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.quality.measuring.own_suites import rule_metric
from lakehouse.quality.measuring.placeholders import placeholder_tests
from lakehouse.quality.measuring.staged import Target
from lakehouse.spark.sql import any_of, in_partition, literal

# Masked columns have another type.
_NUMBERS = {
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "decimal(20,0)": (1 - 10**20, 10**20 - 1),
}


@dataclass(frozen=True, slots=True)
class RowTests:
    """The conditions of one table.

    Attributes:
        types: Column → Spark type of the staged table.
        full: Whether all rows are judged, or those of the batch.
    """

    target: Target
    types: Mapping[str, str]
    full: bool

    @property
    def is_changed(self) -> str:
        """Whether the row's message lies in the batch; Iceberg prunes files by it."""
        if self.target.is_new:
            return "true"
        if self.target.table.replayed:
            return self._is_replayed
        return any_of(
            f"{in_partition(place, self._coordinates)} AND {self.cdc('offset')} >= {start}"
            for place, start in sorted(self.target.start.items())
        )

    @property
    def _is_replayed(self) -> str:
        places: dict[TopicPartition, list[int]] = {}
        for topic, partition, offset in self.target.table.replayed:
            places.setdefault((topic, partition), []).append(offset)
        return any_of(
            f"{in_partition(place, self._coordinates)} "
            f"AND {self.cdc('offset')} IN ({', '.join(map(str, offsets))})"
            for place, offsets in sorted(places.items())
        )

    @property
    def _is_whole(self) -> bool:
        return self.full or self.target.is_new

    @property
    def is_judged(self) -> str:
        """Whether the row is judged by itself; the others are counted."""
        return "true" if self._is_whole else self.is_changed

    @property
    def tests(self) -> dict[str, str]:
        """Metric → how often one row counts in it, for the metrics that a row alone decides."""
        required = [name for name in self.target.table.required if name in self.types]
        return {
            "null_keys": f"int({self.has_null_key})",
            "placeholder_values": _sum(placeholder_tests(self.types)),
            "missing_positions": f"int({self.cdc('position')} IS NULL)",
            "rows_outside_cut": f"int(NOT ({self._is_inside(self.target.end)}))",
            "nulls_in_required": _sum(f"{quote_ident(name)} IS NULL" for name in required),
            "values_out_of_range": _sum(self._range_tests()),
        }

    @property
    def is_perhaps_back(self) -> str:
        """Whether the published cut may have a newer version of the row's key.

        No row of it is above its highest position: that was judged with `rows_outside_cut`.
        """
        highest = self.target.published_position
        if self.target.is_new:
            return "false"
        if not highest:
            return "true"
        return f"NOT coalesce({self.cdc('position')} > {literal(highest)}, false)"

    @property
    def rule_tests(self) -> dict[str, str]:
        """Metric → how often a row counts in it, for the rules of a person, in their order.

        Of a broken one nothing is counted.
        """
        return {rule_metric(rule.name): self._rule_test(rule) for rule in self.target.rules}

    def _rule_test(self, rule: OwnRule) -> str:
        if rule.name in self.target.broken:
            return "0"
        # A condition may end in a comment.
        return f"int(coalesce({rule.condition}\n, false))"

    @property
    def has_null_key(self) -> str:
        """Whether a part of the row's event key is missing."""
        return any_of(f"{quote_ident(name)} IS NULL" for name in self.target.table.key)

    def _is_inside(self, end: Mapping[TopicPartition, int]) -> str:
        """Whether the row's message is one that the cut covers."""
        inside = any_of(
            f"{in_partition(place, self._coordinates)} AND {self.cdc('offset')} < {behind}"
            for place, behind in sorted(end.items())
        )
        highest = self.target.position
        above = f"{self.cdc('position')} > {literal(highest)}" if highest else "false"
        return f"coalesce({inside}, false) AND NOT coalesce({above}, false)"

    def _range_tests(self) -> Iterable[str]:
        """One test for each column whose type in the source bounds its numbers."""
        for name, kind in self.types.items():
            bounds, own = self.target.ranges.get(name.lower()), _NUMBERS.get(kind)
            if bounds is None or own is None:
                continue
            # Spark 4.1 cannot plan a filter on a sum of which one test is false whatever the row.
            (low, high), (least, greatest) = bounds, own
            if low > least or high < greatest:
                column = quote_ident(name)
                yield f"coalesce({column} < {low}BD OR {column} > {high}BD, false)"

    def cdc(self, name: str) -> str:
        """A field of the row's `_cdc` column."""
        return f"{self._coordinates}.{quote_ident(name)}"

    @property
    def _coordinates(self) -> str:
        return quote_ident(self.target.table.cdc)


def _sum(conditions: Iterable[str]) -> str:
    return " + ".join(f"int({condition})" for condition in conditions) or "0"
