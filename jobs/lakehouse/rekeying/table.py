"""Drains a table whose key will change, and lets silver follow once it has changed.

In: a source, its database and connector. Out: a `Drained` line for the next step; silver's key, and
the schema version that says so, under the lease of the source.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from infra.sources import Database
from lakehouse.config import Settings, SourceConfig
from lakehouse.errors import KeyChangeRefused, NotYet
from lakehouse.inspection.addresses import signals_of
from lakehouse.names import TableIdentity, format_table, parse_table
from lakehouse.plan.batches.tables import HISTORY_ENDING
from lakehouse.plan.cuts.published import excluded_of, held_of, identities_of
from lakehouse.plan.records import SCHEMA_VERSIONS, CutRow
from lakehouse.plan.remaking.rekeying import Drained, lag_of, new_key, not_drained
from lakehouse.quality.schemas.rekeyed import followed_version, has_key, rekeyed
from lakehouse.reconciling.marker import write_marker
from lakehouse.rekeying.connector import SourceConnector
from lakehouse.rekeying.database import log_end, read_table
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.lag import measure_lag
from lakehouse.spark.staging.properties import properties_of, remember_key

_LOOK_S = 1.0
_PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Rekeying:
    """A table of a source, as silver has it.

    Attributes:
        identity: The source table.
        silver: Its silver table.
        cut: The newest published cut.
    """

    source: SourceConfig
    settings: Settings
    ledger: Ledger
    database: Database
    connector: SourceConnector
    identity: TableIdentity
    silver: str
    cut: CutRow

    @property
    def name(self) -> str:
        """The table as in the TOML file."""
        return format_table(self.identity, self.source.connector)

    def drain(self, patience_s: float) -> Drained:
        """Wait until all that was written to the table is published, and nothing more is written.

        Raises:
            ConfigError: The source names no table for a marker.
            NotYet: It is not by then.
        """
        deadline, end = time.monotonic() + patience_s, log_end(self.database)
        # The connector confirms what it has read with its next event: a quiet log has none.
        write_marker(signals_of(self.source, self.settings) or self.database, self.source)
        before = read_table(self.database, self.identity, self.connector.slot, end)
        while True:
            now = read_table(self.database, self.identity, self.connector.slot, end)
            lag = measure_lag(self.source, self.settings, self.ledger)
            why = not_drained(before, now, lag_of(lag, self.silver), lag.unseen)
            if not why:
                return Drained(self.name, now.writes, lag.cut)
            if time.monotonic() >= deadline:
                raise NotYet(f"table {self.name!r}: not drained within {patience_s:.0f} s: {why}")
            time.sleep(_LOOK_S)

    def follow(self, spark: SparkSession, drained: Drained, person: str) -> str:
        """Give silver the key that the table has in the source now; repeating it is harmless.

        Args:
            spark: The session that changes the table's properties.
            drained: What was drained.
            person: Who changed the key.

        Raises:
            KeyChangeRefused: Silver cannot follow; nothing was changed.
        """
        found = read_table(self.database, self.identity, self.connector.slot, "0/0")
        stored = properties_of(self.ledger.catalog, self.silver)
        columns = {name.lower(): name for name in stored.docs if not name.startswith("_cdc")}
        key, problem = new_key(found.key, columns)
        row = followed_version(self.ledger.schema_versions(self.source.name), self.identity)
        is_known = row is not None and has_key(row, key)
        if not problem and set(key) == set(stored.key or ()) and is_known:
            return f"table {self.name}: its key is {', '.join(key)} as before"
        problem = problem or self._problem(drained, found.writes)
        if problem or row is None:
            problem = problem or "expected a recorded schema version: run ingest"
            raise KeyChangeRefused(f"table {self.name!r}: {problem}")
        leases = Leases(self.ledger.catalog, self.source.name)
        with leases.upkeep(f"key__{uuid.uuid4().hex[:8]}", _PATIENCE_S) as lease:
            lease.check()
            remember_key(spark, self.silver, key)
            if not is_known:
                version = rekeyed(row, key, person, datetime.now(UTC))
                self.ledger.append(SCHEMA_VERSIONS, [version])
        was = ", ".join(stored.key or ()) or "none"
        return f"table {self.name}: its key was {was}, and is {', '.join(key)} now"

    def _problem(self, drained: Drained, writes: int) -> str:
        """Why silver's rows cannot be taken for the source's under another key."""
        if not self.connector.is_stopped:
            return "the connector runs: expected it to be stopped, `lakehouse key stop`"
        if drained.table != self.name or drained.writes != writes:
            rows = writes - drained.writes
            return (
                f"{rows} rows of it were written since it was drained: expected none; put the old "
                "key back, restart the connector and drain it again"
            )
        lag = measure_lag(self.source, self.settings, self.ledger)
        mine = lag_of(lag, self.silver)
        if mine is None or mine.messages or lag.unseen:
            return lag.unseen or "messages of it wait: expected all to be published; run ingest"
        return ""


def open_rekeying(
    source: SourceConfig,
    settings: Settings,
    ledger: Ledger,
    table: str,
    sides: tuple[Database, SourceConnector],
) -> Rekeying:
    """A table whose key may change.

    Args:
        source: The source.
        settings: Where its Kafka is looked up.
        ledger: The control tables.
        table: As in the TOML file.
        sides: The source's database and its connector.

    Raises:
        KeyChangeRefused: Its key cannot change so.
    """
    wanted, cut = parse_table(table, source.connector), ledger.newest_cut(source.name)
    found = {
        TableIdentity.of(members).parts(source.connector): (TableIdentity.of(members), silver)
        for silver, members in sorted(identities_of(cut).items(), reverse=True)
    }
    parts = wanted.parts(source.connector)
    if cut is None or parts not in found:
        raise KeyChangeRefused(
            f"table {table!r}: expected one of the newest cut, see `lakehouse tables --source "
            f"{source.name}`"
        )
    identity, silver = found[parts]
    problem = _unfit(source, ledger, cut, identity, silver)
    if "message.key.columns" in sides[1].facts.config:
        problem = "message.key.columns names the key of events, whatever the table's is"
    if problem:
        raise KeyChangeRefused(f"table {table!r}: {problem}")
    return Rekeying(source, settings, ledger, *sides, identity, silver, cut)


def _unfit(
    source: SourceConfig, ledger: Ledger, cut: CutRow, identity: TableIdentity, silver: str
) -> str:
    options = source.table_options(identity)
    stored = properties_of(ledger.catalog, silver)
    if options.key:
        return "the TOML file names its key, whatever the source's is: change it there and rebuild"
    if not stored.key:
        return "it has no key, so that no row of silver can be named: rebuild it once it has one"
    if silver + HISTORY_ENDING in cut.tables or stored.soft:
        return (
            "it keeps versions or deleted rows, which the old key names: name the new key in the "
            "TOML file (key) and rebuild"
        )
    if silver in excluded_of(cut):
        return f"it is held: {excluded_of(cut)[silver].reason}"
    if held := held_of(cut).get(silver):
        return f"{held} of its keys wait for a quarantined event: `lakehouse replay` first"
    return ""
