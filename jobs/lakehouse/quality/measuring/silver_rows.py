"""A staged silver table as SQL that gives rows which metrics are summed from.

In: a target and the types of its columns. Out: `SELECT` texts of its judged rows counted, of rows
with `h1, h2` (a hash of the event key), and of the versions that rows have and published rows had.
As text, so that Spark analyses all tables at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakehouse.config.rules import OwnRule, read_columns
from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TopicPartition
from lakehouse.quality.measuring.metric_rows import (
    PERHAPS_BACK,
    ROW_COUNT,
    Counted,
    Keyed,
    key_hashes,
)
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
class SilverRows:
    """The statements of one table.

    Attributes:
        types: Column → Spark type of the staged table.
        full: Whether all rows are judged, or those of the batch.
        width: How many rules of a person the table with the most has.
    """

    target: Target
    types: Mapping[str, str]
    full: bool
    width: int = 0

    @property
    def judged(self) -> str:
        """The judged rows, each with what counts in it; how many rows there are, others count."""
        newest = f"if({self.is_changed}, unix_micros({self._cdc('source_ts')}), NULL)"
        counted = Counted(
            self._subject,
            {
                **self.tests,
                "changed_rows": f"int({self.is_changed})",
                PERHAPS_BACK: f"int({self._is_perhaps_back})",
            },
            newest=newest,
            own=tuple(self.rule_tests.values()),
            width=self.width,
        )
        return counted.select(self._staged, f"WHERE {self.is_judged}")

    @property
    def row_count(self) -> str:
        """How many live rows there are."""
        counts = {ROW_COUNT: f"coalesce(sum({self._is_row}), 0)"}
        return Counted(self._subject, counts, width=self.width).select(self._staged)

    @property
    def counted_keys(self) -> str:
        """Every staged row by its key, counted."""
        return Keyed(self._subject, *self._hashes, n="1", rows=self._is_row).select(self._staged)

    @property
    def keys(self) -> str:
        """Every staged row by its key, and nothing else."""
        return Keyed(self._subject, *self._hashes, n="1").select(self._staged)

    @property
    def _is_row(self) -> str:
        """Whether it is a live one; deleted rows stay in some tables."""
        is_deleted = f"{self._cdc('op')} <=> {literal(DELETE)}"
        return f"int(NOT ({is_deleted}))" if self.target.table.soft else "1"

    @property
    def batch_keys(self) -> str:
        """The keys of the judged rows."""
        return self._of_keys("", self._staged, self.is_judged)

    @property
    def batch_versions(self) -> str:
        """The judged rows by key, each with the version that it has."""
        return self._of_keys(f", {self._version} version", self._staged, self.is_judged)

    @property
    def published_versions(self) -> str:
        """Every published row by key, with the version that it has."""
        return self._of_keys(f", {self._version} published", self._published, "true")

    def _of_keys(self, more: str, relation: str, condition: str) -> str:
        h1, h2 = self._hashes
        return (
            f"SELECT {self._subject} subject, {h1} h1, {h2} h2{more} "
            f"FROM {relation} WHERE ({condition}) AND NOT ({self._has_null_key})"
        )

    @property
    def is_changed(self) -> str:
        """Whether the row's message lies in the batch; Iceberg prunes files by it."""
        if self.target.is_new:
            return "true"
        if self.target.table.replayed:
            return self._is_replayed
        return any_of(
            f"{in_partition(place, self._coordinates)} AND {self._cdc('offset')} >= {start}"
            for place, start in sorted(self.target.start.items())
        )

    @property
    def _is_replayed(self) -> str:
        places: dict[TopicPartition, list[int]] = {}
        for topic, partition, offset in self.target.table.replayed:
            places.setdefault((topic, partition), []).append(offset)
        return any_of(
            f"{in_partition(place, self._coordinates)} "
            f"AND {self._cdc('offset')} IN ({', '.join(map(str, offsets))})"
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
            "null_keys": f"int({self._has_null_key})",
            "placeholder_values": _sum(placeholder_tests(self.types)),
            "missing_positions": f"int({self._cdc('position')} IS NULL)",
            "rows_outside_cut": f"int(NOT ({self._is_inside(self.target.end)}))",
            "nulls_in_required": _sum(f"{quote_ident(name)} IS NULL" for name in required),
            "values_out_of_range": _sum(self._range_tests()),
        }

    @property
    def _is_perhaps_back(self) -> str:
        """Whether the published cut may have a newer version of the row's key.

        No row of it is above its highest position: that was judged with `rows_outside_cut`.
        """
        highest = self.target.published_position
        if self.target.is_new:
            return "false"
        if not highest:
            return "true"
        return f"NOT coalesce({self._cdc('position')} > {literal(highest)}, false)"

    @property
    def rule_tests(self) -> dict[str, str]:
        """Metric → how often a row counts in it, for the rules of a person, in their order.

        Every row breaks a rule whose columns are not there; of a broken one nothing is counted.
        """
        return {rule_metric(rule.name): self._rule_test(rule) for rule in self.target.rules}

    def _rule_test(self, rule: OwnRule) -> str:
        if rule.name in self.target.broken:
            return "0"
        if not self.has_columns((*read_columns(rule.condition), *rule.unique)):
            return "1"
        # A condition may end in a comment.
        return f"int(coalesce({rule.condition}\n, false))"

    def unique_hash(self, rule: OwnRule) -> str:
        """The hash of the columns of a rule that may not repeat; NULL where it has none."""
        is_there = rule.unique and self.has_columns(rule.unique)
        return self._unique_hashes(rule)[0] if is_there else "NULL"

    def _unique_hashes(self, rule: OwnRule) -> tuple[str, str]:
        columns = [quote_ident(name) for name in rule.unique]
        subject = unique_subject(self.target.silver, rule)
        return key_hashes(subject, columns, any_of(f"{column} IS NULL" for column in columns))

    @property
    def unique(self) -> tuple[str, ...]:
        """For each rule about columns that may not repeat: the live rows by these columns."""
        live = f"{self._cdc('op')} != {literal(DELETE)}"
        return tuple(
            Keyed(subject, *self._unique_hashes(rule), n="1").select(self._staged, live)
            for rule in self.target.rules
            if self._counts_repeats(rule)
            for subject in [literal(unique_subject(self.target.silver, rule))]
        )

    def _counts_repeats(self, rule: OwnRule) -> bool:
        is_whole = rule.name not in self.target.broken
        return bool(rule.unique) and is_whole and self.has_columns(rule.unique)

    def has_columns(self, names: Iterable[str]) -> bool:
        """Whether the table has all of some columns, in any case."""
        return {name.lower() for name in names} <= {name.lower() for name in self.types}

    @property
    def _hashes(self) -> tuple[str, str]:
        """What names the event key; NULL where a part of it is missing, or there is none."""
        kinds = {name.lower(): kind for name, kind in self.types.items()}
        # The published rows are of before the batch, which may have widened a column of the key.
        key = [
            f"CAST({quote_ident(name)} AS {kinds[name.lower()]})"
            if name.lower() in kinds
            else quote_ident(name)
            for name in self.target.table.key
        ]
        if not key:
            return "NULL", "NULL"
        return key_hashes(self.target.silver, key, self._has_null_key)

    @property
    def _has_null_key(self) -> str:
        return any_of(f"{quote_ident(name)} IS NULL" for name in self.target.table.key)

    def _is_inside(self, end: Mapping[TopicPartition, int]) -> str:
        """Whether the row's message is one that the cut covers."""
        inside = any_of(
            f"{in_partition(place, self._coordinates)} AND {self._cdc('offset')} < {behind}"
            for place, behind in sorted(end.items())
        )
        highest = self.target.position
        above = f"{self._cdc('position')} > {literal(highest)}" if highest else "false"
        return f"coalesce({inside}, false) AND NOT coalesce({above}, false)"

    @property
    def _version(self) -> str:
        epoch, position = self._cdc("epoch"), self._cdc("position")
        return f"named_struct('epoch', bigint({epoch}), 'position', {position})"

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

    def _cdc(self, name: str) -> str:
        return f"{self._coordinates}.{quote_ident(name)}"

    @property
    def _coordinates(self) -> str:
        return quote_ident(self.target.table.cdc)

    @property
    def _subject(self) -> str:
        return literal(self.target.silver)

    @property
    def _staged(self) -> str:
        return self.target.relation

    @property
    def _published(self) -> str:
        return self.target.published


def unique_subject(silver: str, rule: OwnRule) -> str:
    """Names the columns of a rule that may not repeat among the subjects of a pass."""
    return f"{silver}#{rule.name}"


def _sum(conditions: Iterable[str]) -> str:
    return " + ".join(f"int({condition})" for condition in conditions) or "0"
