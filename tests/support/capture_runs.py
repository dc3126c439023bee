"""Whole runs over recorded archives, and what silver and the quarantine have afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.names import RETIRED, silver_namespace
from lakehouse.plan.cuts.published import published_names
from lakehouse.plan.records import QUARANTINE
from lakehouse.spark.tables import full_name
from tests.support.captures import Capture, expected_rows, identity_of, stored_rows
from tests.support.runs import Runs, laws_hold

# Without a statement a rename is a column that goes and one that comes.
RENAMES = {"sqlserver_ddl_add_drop_rename_widen"}


class Case:
    """One archive, run as a source of its own."""

    def __init__(
        self,
        spark: SparkSession,
        settings: Settings,
        folder: Path,
        capture: Capture,
        ending: str,
    ) -> None:
        # Cases run two at a time, and temporary views belong to a session.
        self.spark, self.capture = spark.newSession(), capture
        self.source = parse_source(capture.toml, capture.name + ending)
        self.runs = Runs(self.spark, settings, folder, self.source)

    def run(self, archive: Path) -> None:
        """Do all five steps."""
        outcomes = self.runs.steps(archive)
        failed = {s: o.message for s, o in outcomes.items() if o.status != "succeeded"}
        assert failed == {}, f"{self.source.name}: {failed}"
        assert laws_hold(outcomes["apply"])

    def rows(self, tables: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
        """The rows of each expected table, as silver has them."""
        names = published_names(self.runs.ledger.newest_cut(self.source.name))
        found = {
            tuple(part for part in (one.database, one.schema_name, one.table) if part): name
            for one, name in names.items()
            if not RETIRED.search(name)
        }
        assert found.keys() == {identity_of(text, table) for text, table in tables.items()}
        return {
            text: self._stored(found[identity_of(text, table)], table)
            for text, table in tables.items()
        }

    def _stored(self, name: str, table: Mapping[str, object]) -> object:
        rows = self.spark.table(full_name(f"{silver_namespace(self.source.name)}.{name}"))
        docs = {field.name: field.metadata.get("comment", "") for field in rows.schema.fields}
        return stored_rows(rows.toArrow(), docs, table)

    def quarantined(self) -> set[tuple[str, int, int]]:
        rows = self.runs.ledger.rows(QUARANTINE, source=self.source.name)
        return {(row.topic, row.partition, row.offset) for row in rows}


def wanted(name: str, tables: Mapping[str, Mapping[str, object]]) -> dict[str, object]:
    """The expected rows; where a rename is not told, rows from before it lack the new column."""
    rows = {text: expected_rows(table) for text, table in tables.items()}
    if name in RENAMES:
        for row in rows[next(iter(rows))]:
            column = next(column for column in row if column.lower() == "label")
            if row[column] in ("a", "c"):
                row[column] = None
    return {text: sorted(each, key=repr) for text, each in rows.items()}
