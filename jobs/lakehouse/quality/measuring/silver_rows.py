"""A staged silver table as SQL that gives rows which metrics are summed from.

In: a target and the types of its columns. Out: `SELECT` texts of its judged rows counted, of rows
with `h1, h2` (a hash of the event key), and of the versions that rows have and published rows had.
As text, so that Spark analyses all tables at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.config.rules import OwnRule
from lakehouse.envelope import DELETE
from lakehouse.names import quote_ident
from lakehouse.quality.measuring.metric_rows import (
    PERHAPS_BACK,
    ROW_COUNT,
    Counted,
    Keyed,
    key_hashes,
)
from lakehouse.quality.measuring.row_tests import RowTests
from lakehouse.quality.measuring.staged import Target
from lakehouse.spark.sql import any_of, literal


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
    def row(self) -> RowTests:
        """What decides of one row."""
        return RowTests(self.target, self.types, self.full)

    @property
    def judged(self) -> str:
        """The judged rows, each with what counts in it; how many rows there are, others count."""
        newest = f"if({self.row.is_changed}, unix_micros({self.row.cdc('source_ts')}), NULL)"
        counted = Counted(
            self._subject,
            {
                **self.row.tests,
                "changed_rows": f"int({self.row.is_changed})",
                PERHAPS_BACK: f"int({self.row.is_perhaps_back})",
            },
            newest=newest,
            own=tuple(self.row.rule_tests.values()),
            width=self.width,
        )
        return counted.select(self._staged, f"WHERE {self.row.is_judged}")

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
        is_deleted = f"{self.row.cdc('op')} <=> {literal(DELETE)}"
        return f"int(NOT ({is_deleted}))" if self.target.table.soft else "1"

    @property
    def batch_keys(self) -> str:
        """The keys of the judged rows."""
        return self._of_keys("", self._staged, self.row.is_judged)

    @property
    def batch_versions(self) -> str:
        """The judged rows by key, each with the version that it has."""
        return self._of_keys(f", {self._version} version", self._staged, self.row.is_judged)

    @property
    def published_versions(self) -> str:
        """Every published row by key, with the version that it has."""
        return self._of_keys(f", {self._version} published", self._published, "true")

    def _of_keys(self, more: str, relation: str, condition: str) -> str:
        h1, h2 = self._hashes
        return (
            f"SELECT {self._subject} subject, {h1} h1, {h2} h2{more} "
            f"FROM {relation} WHERE ({condition}) AND NOT ({self.row.has_null_key})"
        )

    def unique_hash(self, rule: OwnRule) -> str:
        """The hash of the columns of a rule that may not repeat; NULL where it has none."""
        return self._unique_hashes(rule)[0] if rule.unique else "NULL"

    def _unique_hashes(self, rule: OwnRule) -> tuple[str, str]:
        columns = [quote_ident(name) for name in rule.unique]
        subject = unique_subject(self.target.silver, rule)
        return key_hashes(subject, columns, any_of(f"{column} IS NULL" for column in columns))

    @property
    def unique(self) -> tuple[str, ...]:
        """For each rule about columns that may not repeat: the live rows by these columns."""
        live = f"{self.row.cdc('op')} != {literal(DELETE)}"
        return tuple(
            Keyed(subject, *self._unique_hashes(rule), n="1").select(self._staged, live)
            for rule in self.target.rules
            if self._counts_repeats(rule)
            for subject in [literal(unique_subject(self.target.silver, rule))]
        )

    def _counts_repeats(self, rule: OwnRule) -> bool:
        return bool(rule.unique) and rule.name not in self.target.broken

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
        return key_hashes(self.target.silver, key, self.row.has_null_key)

    @property
    def _version(self) -> str:
        epoch, position = self.row.cdc("epoch"), self.row.cdc("position")
        return f"named_struct('epoch', bigint({epoch}), 'position', {position})"

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
