"""Rows for which an expectation fails, as SQL: their event keys and where their messages stand.

In: a staged table, or what landed, and a metric. Out: a statement that gives `key` and `messages`
of at most so many rows; None for a metric that no single row decides, such as a count of rows.
Keys come from silver, where masked columns are hashed, redacted or dropped; never from bronze.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.envelope import DELETE
from lakehouse.names import bronze_table, quote_ident
from lakehouse.plan.topics.offsets import OffsetRange
from lakehouse.quality.measuring.bronze_rows import TESTS, in_range, landed_by
from lakehouse.quality.measuring.landed import LandedRanges
from lakehouse.quality.measuring.own_suites import rule_metric
from lakehouse.quality.measuring.reference_rows import ReferenceRows
from lakehouse.quality.measuring.silver_rows import SilverRows
from lakehouse.spark.parsing.reasons import LARGE_VALUE_BYTES
from lakehouse.spark.sql import all_of, any_of, in_partition, literal
from lakehouse.spark.tables import full_name

# Keys of one expectation and subject.
MAX_KEYS = 20
# A key may hold a value of any length.
_KEY_LENGTH = 400
_TESTS = {**TESTS, "large_messages": f"octet_length(value) > {LARGE_VALUE_BYTES}"}
_MESSAGE = "named_struct('topic', {c}topic, 'partition', {c}partition, 'offset', {c}offset)"


@dataclass(frozen=True, slots=True)
class FailingRows:
    """The statements of one staged table."""

    rows: SilverRows
    references: tuple[ReferenceRows, ...] = ()

    def of(self, metric: str) -> str | None:
        """The rows that count in a metric."""
        if metric == "duplicate_keys":
            return self._twice if self._columns else None
        if metric == "positions_going_back":
            return self._older if self._columns and not self.rows.target.is_new else None
        if metric == "dangling_references" and self.references:
            counted = any_of(each.dangling for each in self.references)
        elif test := self._tests.get(metric):
            counted = f"({self.rows.row.is_judged}) AND ({test}) > 0"
        else:
            return None
        return (
            f"SELECT {self._key} key, array({self._message}) messages "
            f"FROM {self._staged} WHERE {counted} LIMIT {MAX_KEYS}"
        )

    @property
    def _tests(self) -> dict[str, str]:
        """Metric → whether a row is bad; none for rules that need rows, and do not refuse them."""
        own = {rule_metric(rule.name): rule for rule in self.rows.target.rules}
        tests = {
            name: self._repeats(names) if names else test
            for name, test in self.rows.row.rule_tests.items()
            for names in [own[name].unique]
            if not own[name].at_least and not own[name].rows
            if own[name].name not in self.rows.target.broken
        }
        return {**self.rows.row.tests, **tests}

    def _repeats(self, names: Sequence[str]) -> str:
        """Whether another row has the values of a row in some columns."""
        columns = ", ".join(map(quote_ident, names))
        live = f"{quote_ident(self.rows.target.table.cdc)}.op != {literal(DELETE)}"
        return (
            f"int({live} AND ({columns}) IN (SELECT {columns} FROM {self._staged} WHERE {live} "
            f"GROUP BY {columns} HAVING count(*) > 1))"
        )

    @property
    def _twice(self) -> str:
        """Keys of several rows, with the first and the last message."""
        first_and_last = f"array(min({self._message}), max({self._message}))"
        return (
            f"SELECT {self._key} key, array_distinct({first_and_last}) messages "
            f"FROM {self._staged} WHERE NOT ({self._has_null}) GROUP BY {self._columns} "
            f"HAVING count(*) > 1 LIMIT {MAX_KEYS}"
        )

    @property
    def _older(self) -> str:
        """Keys with an older version than the published one, and the message of each of both."""
        staged = f"({self._versions} FROM {self._staged} WHERE {self.rows.row.is_judged}) s"
        published = f"({self._versions} FROM {self.rows.target.published}) p"
        return (
            f"SELECT {self._key} key, array(s.__message, p.__message) messages "
            f"FROM {staged} JOIN {published} USING ({self._columns}) "
            f"WHERE s.__version < p.__version LIMIT {MAX_KEYS}"
        )

    @property
    def _versions(self) -> str:
        cdc = quote_ident(self.rows.target.table.cdc)
        version = f"named_struct('epoch', bigint({cdc}.epoch), 'position', {cdc}.position)"
        return f"SELECT {self._columns}, {version} __version, {self._message} __message"

    @property
    def _columns(self) -> str:
        return ", ".join(quote_ident(name) for name in self.rows.target.table.key)

    @property
    def _key(self) -> str:
        """The event key as JSON text, cut to a length; empty in a table without one."""
        if not self._columns:
            return "''"
        text = f"to_json(struct({self._columns}), map('ignoreNullFields', 'false'))"
        return f"substr({text}, 1, {_KEY_LENGTH})"

    @property
    def _has_null(self) -> str:
        return any_of(f"{quote_ident(name)} IS NULL" for name in self.rows.target.table.key)

    @property
    def _message(self) -> str:
        return _MESSAGE.format(c=f"{quote_ident(self.rows.target.table.cdc)}.")

    @property
    def _staged(self) -> str:
        return self.rows.target.relation


def failing_messages(
    source: str, landed: LandedRanges, place: OffsetRange, metric: str
) -> str | None:
    """The messages of one topic partition that count in a metric, without their event keys.

    Args:
        source: The source.
        landed: What the run landed.
        place: The landed range of the topic partition.
        metric: A metric of the suite `bronze`.
    """
    own, inside = landed_by(landed), in_range(place)
    counts = {
        "range_start": f"({own}) AND offset < {place.start}",
        "next_offset": f"({own}) AND offset >= {place.end}",
        **{name: f"(({own}) OR ({inside})) AND ({test})" for name, test in _TESTS.items()},
    }
    mine = in_partition((place.topic, place.partition))
    select = f"SELECT '' key, array({_MESSAGE.format(c='')}) messages FROM "
    bronze = full_name(bronze_table(source))
    if metric == "duplicate_offsets":
        counted = all_of((mine, f"({own}) OR ({inside})"))
        return (
            f"{select}{bronze} WHERE {counted} GROUP BY topic, partition, offset "
            f"HAVING count(*) > 1 LIMIT {MAX_KEYS}"
        )
    if metric not in counts:
        return None
    return f"{select}{bronze} WHERE {all_of((mine, counts[metric]))} LIMIT {MAX_KEYS}"
