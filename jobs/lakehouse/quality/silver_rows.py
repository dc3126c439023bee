"""A staged silver table as SQL that gives rows of the one shape metrics are aggregated from.

In: a target and the types of its columns. Out: `SELECT` texts with `subject, h1, h2` (a hash of
the event key), `n` (rows of the staged table), the counts of COUNTS, the version that a row has,
the one that is published, an offset and a time. As text, so that Spark analyses all tables at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from lakehouse.config.rules import OwnRule, read_columns
from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.plan.tables import TopicPartition
from lakehouse.quality.metric_rows import NO_VERSION, Shape
from lakehouse.quality.own_suites import rule_metric
from lakehouse.quality.placeholders import placeholder_tests
from lakehouse.quality.staged import Target
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
    def whole(self) -> tuple[str, ...]:
        """Every staged row judged and counted, every published one with its version."""
        staged = self._judged(n="1", judged=self.is_judged)
        statements = [staged.select(self._staged)]
        if not self.target.is_new:
            statements.append(self._published_versions.select(self._published))
        return tuple(statements)

    @property
    def changed(self) -> str:
        """The batch's rows judged; they are counted among the keys."""
        return self._judged(n="0", judged="true").select(self._staged, self.is_changed)

    @property
    def changed_keys(self) -> str:
        """The keys of the batch's rows."""
        keyed = f"({self.is_changed}) AND NOT ({self._has_null_key})"
        return (
            f"SELECT {self._subject} subject, {self._hash('a')} h1, {self._hash('b')} h2 "
            f"FROM {self._staged} WHERE {keyed}"
        )

    @property
    def staged_keys(self) -> str:
        """Every staged row with its key and nothing else."""
        return self._shape(n="1").select(self._staged)

    @property
    def published_keys(self) -> str:
        """Every published row with its key and version."""
        return self._published_versions.select(self._published)

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

    def _judged(self, *, n: str, judged: str) -> Shape:
        counts = {name: f"if({judged}, {count}, 0)" for name, count in self.tests.items()}
        counts["changed_rows"] = f"int({self.is_changed})"
        version = f"if({judged}, {self._version}, NULL)"
        shape = self._shape(n=n, counts=counts, version=version)
        own = tuple(f"if({judged}, {test}, 0)" for test in self.rule_tests.values())
        newest = f"if({self.is_changed}, unix_micros({self._cdc('source_ts')}), NULL)"
        return replace(shape, own=own, newest=newest)

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
        return _hash_of(rule.unique, "a") if is_there else "NULL"

    @property
    def unique(self) -> tuple[str, ...]:
        """For each rule about columns that may not repeat: the live rows by these columns."""
        live = f"{self._cdc('op')} != {literal(DELETE)}"
        return tuple(
            Shape(subject, h1, h2, "1", {}, width=self.width).select(self._staged, live)
            for rule in self.target.rules
            if self._counts_repeats(rule)
            for subject in [literal(unique_subject(self.target.silver, rule))]
            for h1, h2 in [[_hash_of(rule.unique, salt) for salt in "ab"]]
        )

    def _counts_repeats(self, rule: OwnRule) -> bool:
        is_whole = rule.name not in self.target.broken
        return bool(rule.unique) and is_whole and self.has_columns(rule.unique)

    def has_columns(self, names: Iterable[str]) -> bool:
        """Whether the table has all of some columns, in any case."""
        return {name.lower() for name in names} <= {name.lower() for name in self.types}

    @property
    def _published_versions(self) -> Shape:
        return self._shape(n="0", published=self._version)

    def _shape(
        self,
        *,
        n: str,
        counts: Mapping[str, str] | None = None,
        version: str = NO_VERSION,
        published: str = NO_VERSION,
    ) -> Shape:
        h1, h2 = self._hash("a"), self._hash("b")
        # Rows that stay although they were deleted; in a table without such rows there are none.
        deleted = {"deleted_rows": f"{n} * int({self._cdc('op')} <=> {literal(DELETE)})"}
        every = {**deleted, **(counts or {})}
        return Shape(self._subject, h1, h2, n, every, version, published, width=self.width)

    def _hash(self, salt: str) -> str:
        """Half of the 128 bits that name a key; NULL where a part of the key is missing."""
        kinds = {name.lower(): kind for name, kind in self.types.items()}
        # The published rows are of before the batch, which may have widened a column of the key.
        key = [
            f"CAST({quote_ident(name)} AS {kinds[name.lower()]})"
            if name.lower() in kinds
            else quote_ident(name)
            for name in self.target.table.key
        ]
        if not key:
            return "NULL"
        return f"if({self._has_null_key}, NULL, xxhash64({literal(salt)}, {', '.join(key)}))"

    @property
    def _has_null_key(self) -> str:
        return any_of(f"{quote_ident(name)} IS NULL" for name in self.target.table.key)

    def _is_inside(self, end: Mapping[TopicPartition, int]) -> str:
        """Whether the row's message is one that the cut covers."""
        inside = any_of(
            f"{in_partition(place, self._coordinates)} AND {self._cdc('offset')} < {behind}"
            for place, behind in sorted(end.items())
        )
        return f"coalesce({inside}, false)"

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


def _hash_of(names: Iterable[str], salt: str) -> str:
    """Half of the hash of some columns; NULL where one of them is."""
    columns = [quote_ident(name) for name in names]
    missing = any_of(f"{column} IS NULL" for column in columns)
    return f"if({missing}, NULL, xxhash64({literal(salt)}, {', '.join(columns)}))"


def _sum(conditions: Iterable[str]) -> str:
    return " + ".join(f"int({condition})" for condition in conditions) or "0"
