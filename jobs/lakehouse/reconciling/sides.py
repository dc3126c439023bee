"""The two sides of a comparison: a database in one state of it, and silver in a published cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from infra.source_rows import Reading
from infra.sources import Database
from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import StepFailed
from lakehouse.names import RETIRED, TableIdentity, format_table
from lakehouse.plan.cuts.published import excluded_of, identities_of
from lakehouse.plan.reconciling.keys import KeyState, StatesBuilder
from lakehouse.plan.reconciling.sums import Sums, bucket_of
from lakehouse.plan.reconciling.tables import ComparedTable, SourceTable, compared_table
from lakehouse.plan.reconciling.texts import digest
from lakehouse.plan.reconciling.wanted import Wanted, shown_key
from lakehouse.plan.records import CutRow
from lakehouse.quality.schemas.losses import column_losses
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.rewriting.reconciling import SilverAt
from lakehouse.spark.staging.properties import properties_of


@dataclass(frozen=True, slots=True)
class Sides:
    """A source and its silver.

    Attributes:
        database: The login that reads the source's database.
        signals: The login that writes a marker into it.
    """

    source: SourceConfig
    database: Database
    signals: Database
    ledger: Ledger
    spark: SparkSession

    def at(self, table: ComparedTable, cut: CutRow) -> SilverAt:
        """A silver table in a cut."""
        return SilverAt(self.spark, table.silver, cut.tables)

    def compared(
        self, state: Reading, cut: CutRow, only: Collection[str] = ()
    ) -> tuple[ComparedTable, ...]:
        """The tables of a cut, each with what of it can be compared.

        Args:
            state: The database.
            cut: The cut.
            only: Tables as TOML files write them; none means all.

        Raises:
            StepFailed: The cut has no such table.
        """
        connector = CONNECTORS[self.source.connector]
        identities = {
            name: TableIdentity.of(members)
            for name, members in sorted(identities_of(cut).items())
            if not RETIRED.search(name)
        }
        if only:
            identities = _chosen(identities, only, connector.name)
        schemas = {str(getattr(t, connector.identity_parts[0])) for t in identities.values()}
        found = {t.identity.parts(connector.name): t for t in state.tables(schemas or {""})}
        return tuple(
            self._compared(name, table, found.get(table.parts(connector.name)), cut)
            for name, table in identities.items()
        )

    def _compared(
        self, silver: str, identity: TableIdentity, table: SourceTable | None, cut: CutRow
    ) -> ComparedTable:
        connector = CONNECTORS[self.source.connector]
        title = format_table(identity, connector.name)
        behind = excluded_of(cut).get(silver)
        if table is None:
            return ComparedTable(title, identity, silver, refused="the source has no such table")
        if behind is not None:
            reason = f"it stays behind at cut {behind.cut or 'none'}: {behind.reason}"
            return ComparedTable(title, identity, silver, refused=reason)
        versions = self.ledger.schema_versions(self.source.name)
        losses = column_losses(versions, self.source).get(silver, ())
        columns = SilverAt(self.spark, silver, cut.tables).columns() if silver in cut.tables else ()
        key = properties_of(self.ledger.catalog, silver).key or ()
        # Silver's name of the table's database is the one that its events carry.
        named = replace(table, identity=identity)
        return compared_table(named, (title, silver), columns, key, losses, connector)


def _chosen(
    identities: Mapping[str, TableIdentity], only: Collection[str], connector: str
) -> dict[str, TableIdentity]:
    titles = {name: format_table(table, connector) for name, table in identities.items()}
    if unknown := sorted(set(only) - set(titles.values())):
        raise StepFailed(
            f"Table {unknown[0]!r}: not in the newest cut: expected one of "
            f"{', '.join(sorted(titles.values())) or 'none yet'}"
        )
    return {name: identities[name] for name, title in titles.items() if title in only}


def source_sums(state: Reading, table: ComparedTable, buckets: int) -> Sums:
    """Count and hash a table of the source.

    Args:
        state: The database.
        table: What of it is compared.
        buckets: How many there are.
    """
    sums = Sums()
    for values in _rows(state, table):
        texts = table.texts(values, of_silver=False)
        sums.add(bucket_of(table.key_digest(texts), buckets), digest(texts))
    return sums


def source_states(state: Reading, table: ComparedTable, wanted: Wanted) -> dict[bytes, KeyState]:
    """The rows of keys. All rows are read for it: a key has no index by its digest.

    Args:
        state: The database.
        table: What of it is compared.
        wanted: The keys; the rows that they have are bounded by who asks.
    """
    states = StatesBuilder()
    for values in _rows(state, table):
        texts = table.texts(values, of_silver=False)
        key = table.key_digest(texts)
        if key in wanted:
            states.add(key, shown_key(table, key, values), texts, tuple(values[: table.key]))
    return states.states()


def _rows(state: Reading, table: ComparedTable) -> Iterator[tuple[object, ...]]:
    columns = {column.name: column.kind for column in table.columns}
    return state.rows(table.identity, columns)
