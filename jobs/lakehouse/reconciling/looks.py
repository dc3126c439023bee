"""The first look at a table: both sides counted and hashed in buckets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from infra.source_rows import Reading
from lakehouse.plan.reconciling.keys import KeyState
from lakehouse.plan.reconciling.sums import Sums, bucket_count, differing, rows_of, that_fit
from lakehouse.plan.reconciling.tables import ComparedTable
from lakehouse.plan.reconciling.wanted import Wanted, of_buckets
from lakehouse.plan.records import CutRow
from lakehouse.reconciling.sides import Sides, source_states, source_sums
from lakehouse.spark.metadata import row_count
from lakehouse.spark.rewriting.reconciling import silver_sums

# So many rows of a table are looked at one by one, on each side.
MOST_ROWS = 100_000
_LOG = structlog.get_logger()


@dataclass(slots=True)
class Look:
    """The first look at one table.

    Attributes:
        buckets: How many there are.
        silver: Silver's counts and hashes.
        source: Those of the source, once it is read.
        beyond: Rows of buckets that differ and are too many to look at one by one.
        wanted: The buckets whose rows are looked at; None for none.
        states: What the source has of their keys.
    """

    table: ComparedTable
    buckets: int = 1
    silver: Sums = field(default_factory=Sums)
    source: Sums = field(default_factory=Sums)
    beyond: int = 0
    wanted: Wanted | None = None
    states: Mapping[bytes, KeyState] = field(default_factory=dict)

    def read(self, state: Reading) -> None:
        """The source's side."""
        if self.table.refused:
            return
        self.source = source_sums(state, self.table, self.buckets)
        differ = differing(self.source, self.silver)
        _LOG.info(
            "compared",
            table=self.table.title,
            rows=self.source.rows,
            buckets=self.buckets,
            differing=len(differ),
        )
        both = (self.source.found, self.silver.found)
        taken = that_fit(differ, both, MOST_ROWS)
        self.beyond = rows_of(differ[len(taken) :], both)
        if rows_of(taken, both) > MOST_ROWS:
            # One bucket has too many: few different keys, or a table beyond what is meant.
            self.beyond += rows_of(taken, both)
        elif taken:
            self.wanted = of_buckets(self.buckets, taken)
            self.states = source_states(state, self.table, self.wanted)


def counted(sides: Sides, table: ComparedTable, cut: CutRow) -> Look:
    """Count and hash a table of silver.

    Args:
        sides: Where it is.
        table: What of it is compared.
        cut: The cut.
    """
    if table.refused:
        return Look(table)
    buckets = bucket_count(
        row_count(sides.ledger.catalog, table.silver, cut.tables[table.silver]) or 0
    )
    return Look(table, buckets, silver_sums(sides.at(table, cut), table, buckets))
