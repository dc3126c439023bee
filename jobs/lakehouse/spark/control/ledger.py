"""The control tables `quality.*`: written and read with PyIceberg, without a Spark job.

In: rows of `plan.records`. Out: appended rows, and the newest of them by source and run.
Writes are appends only; a row that is written twice says the same thing twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from pyiceberg.exceptions import (
    CommitFailedException,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform

from lakehouse.config import Settings
from lakehouse.plan.cuts.published import waiting_cuts
from lakehouse.plan.records import (
    CUTS,
    QUARANTINE,
    RUNS,
    SCHEMA_VERSIONS,
    ControlTable,
    CutRow,
    QuarantineRow,
    Record,
    RunRow,
    SchemaVersionRow,
)
from lakehouse.spark.control.appending import append, expire
from lakehouse.spark.control.control_rows import arrow_schema, to_arrow
from lakehouse.spark.control.data_files import DataFiles
from lakehouse.spark.control.newest import newest_of, newest_rows
from lakehouse.spark.metadata import ensure_namespace
from lakehouse.spark.opening import load_table, open_catalog

# All sources append to the same tables: an append that another one overtook is tried again. What
# each commit reads and writes again (manifests, older snapshots and metadata) stays short.
_PROPERTIES = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "commit.retry.num-retries": "20",
    "commit.retry.max-wait-ms": "2000",
}


class Ledger:
    """Appends to, and reads, the control tables of one catalog."""

    def __init__(self, settings: Settings) -> None:
        self.catalog = open_catalog(settings)
        self._read: dict[tuple[str, frozenset[tuple[str, str]]], DataFiles] = {}

    def append(self, table: ControlTable, rows: Sequence[Record]) -> None:
        """Append rows in one commit; no rows, no commit."""
        if not rows:
            return
        opened = self._open_or_create(table)
        append(opened, to_arrow(table.row, rows))
        expire(opened)

    def rows(self, table: ControlTable, **equal: str) -> list[Record]:
        """All rows whose named columns equal the given texts, in no order."""
        try:
            opened = load_table(self.catalog, table.name)
        except NoSuchTableError:
            return []
        question = (table.name, frozenset(equal.items()))
        files = self._read.setdefault(question, DataFiles(table.row))
        return files.rows(opened.scan(row_filter=_all_equal(equal)))

    def files(self, table: ControlTable, source: str) -> int:
        """In how many data files a source's rows lay when they were last read; 0 where never."""
        read = self._read.get((table.name, frozenset({("source", source)})))
        return read.count if read else 0

    def newest(
        self, table: ControlTable, count: int, *, since: datetime | None = None, **equal: str
    ) -> list[Record]:
        """The newest of these rows, oldest first.

        Data files of older ones alone are not read, nor any that this process has read already.

        Args:
            table: The control table.
            count: At most so many.
            since: No row of before.
            **equal: What the rows' columns equal.
        """
        try:
            opened = load_table(self.catalog, table.name)
        except NoSuchTableError:
            return []
        condition = _all_equal(equal)
        if known := self._read.get((table.name, frozenset(equal.items()))):
            rows = known.rows(opened.scan(row_filter=condition))
            return newest_of(rows, table, count, since)
        if since is not None:
            condition = And(condition, GreaterThanOrEqual(term=table.time, value=since.isoformat()))
        return newest_rows(opened.scan(row_filter=condition), table, count)

    def runs(self, source: str) -> list[RunRow]:
        """All steps of all runs of a source, oldest first."""
        found = [row for row in self.rows(RUNS, source=source) if isinstance(row, RunRow)]
        return sorted(found, key=lambda row: row.ended_at)

    def newest_run(self, source: str, step: str, run_id: str | None = None) -> RunRow | None:
        """The newest row of a step, of one run or of any; None when there is none."""
        return next(
            (
                row
                for row in reversed(self.runs(source))
                if row.step == step and run_id in (None, row.run_id)
            ),
            None,
        )

    def apply_of(self, cut: CutRow) -> RunRow | None:
        """The row of the apply that staged a cut: its run may have staged others since."""
        runs = reversed(self.runs(cut.source))
        mine = (row for row in runs if row.step == "apply" and row.run_id == cut.run_id)
        return next((row for row in mine if row.batch_id == cut.cut_id), None)

    def schema_versions(self, source: str) -> tuple[SchemaVersionRow, ...]:
        """All recorded schema versions of a source's tables, oldest first."""
        rows = self.rows(SCHEMA_VERSIONS, source=source)
        found = [row for row in rows if isinstance(row, SchemaVersionRow)]
        return tuple(sorted(found, key=lambda row: (row.recorded_at, row.offset)))

    def quarantine(self, source: str) -> list[QuarantineRow]:
        """All states of all messages that a source's runs set aside, in no order."""
        rows = self.rows(QUARANTINE, source=source)
        return [row for row in rows if isinstance(row, QuarantineRow)]

    def cuts(self, source: str) -> list[CutRow]:
        """All states of all cuts of a source, by cut id and time."""
        found = [row for row in self.rows(CUTS, source=source) if isinstance(row, CutRow)]
        return sorted(found, key=lambda row: (row.cut_id, row.recorded_at))

    def newest_cut(self, source: str) -> CutRow | None:
        """The newest published cut; None before the first one."""
        published = [row for row in self.cuts(source) if row.state == "published"]
        return published[-1] if published else None

    def pending_cut(self, source: str) -> CutRow | None:
        """The cut that was announced and may still be published; None where there is none."""
        return next(reversed(waiting_cuts(self.cuts(source))), None)

    def _open_or_create(self, table: ControlTable) -> Table:
        try:
            opened = load_table(self.catalog, table.name)
        except NoSuchTableError:
            return self._create(table)
        schema = arrow_schema(table.row)
        if set(schema.names) - set(opened.schema().column_names):
            # An earlier version of the project made the table.
            with opened.update_schema() as update:
                update.union_by_name(schema)
        return opened

    def _create(self, table: ControlTable) -> Table:
        ensure_namespace(self.catalog, table.name.partition(".")[0])
        # In one commit: an append between two would have no partition.
        with (
            suppress(TableAlreadyExistsError, CommitFailedException),
            self.catalog.create_table_transaction(
                table.name, schema=arrow_schema(table.row), properties=_PROPERTIES
            ) as transaction,
            transaction.update_spec() as spec,
        ):
            spec.add_field("source", IdentityTransform())
        return load_table(self.catalog, table.name)


def _all_equal(equal: Mapping[str, str]) -> BooleanExpression:
    terms: list[BooleanExpression] = [
        EqualTo(term=name, value=value) for name, value in equal.items()
    ]
    expression = terms[0]
    for term in terms[1:]:
        expression = And(expression, term)
    return expression
