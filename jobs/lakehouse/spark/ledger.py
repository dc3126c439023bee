"""The control tables `quality.*`: written and read with PyIceberg, without a Spark job.

In: rows of `plan.records`. Out: appended rows, and the newest of them by source and run.
Writes are appends only; a row that is written twice says the same thing twice.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.expressions import And, BooleanExpression, EqualTo
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from sqlalchemy.exc import DBAPIError

from lakehouse.config import Settings
from lakehouse.plan.catalog import CATALOG, pyiceberg_properties
from lakehouse.plan.records import (
    CUTS,
    RUNS,
    SCHEMA_VERSIONS,
    ControlTable,
    CutRow,
    Record,
    RunRow,
    SchemaVersionRow,
)
from lakehouse.spark.metadata import ensure_namespace

_ARROW: Mapping[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
    tuple[str, ...]: pa.list_(pa.string()),
    Mapping[str, int]: pa.map_(pa.string(), pa.int64()),
}
# All sources append to the same tables: an append that another one overtook is tried again.
_PROPERTIES = {
    "format-version": "2",
    "write.metadata.delete-after-commit.enabled": "true",
    "commit.retry.num-retries": "20",
    "commit.retry.max-wait-ms": "2000",
}


def open_catalog(settings: Settings) -> Catalog:
    """PyIceberg's catalog over the same tables as Spark's.

    PyIceberg makes a new catalog's own tables without asking whether another process just did.
    """
    properties = pyiceberg_properties(settings)
    try:
        return load_catalog(CATALOG, **properties)
    except DBAPIError:
        return load_catalog(CATALOG, **properties)


class Ledger:
    """Appends to, and reads, the control tables of one catalog."""

    def __init__(self, settings: Settings) -> None:
        self.catalog = open_catalog(settings)

    def append(self, table: ControlTable, rows: Sequence[Record]) -> None:
        """Append rows in one commit; no rows, no commit."""
        if not rows:
            return
        schema = _arrow_schema(table.row)
        values = [dataclasses.asdict(row) for row in rows]
        for value in values:
            for name, content in value.items():
                if isinstance(content, Mapping):
                    value[name] = list(content.items())
                elif isinstance(content, tuple):
                    value[name] = list(content)
        self._open_or_create(table).append(pa.Table.from_pylist(values, schema=schema))

    def rows(self, table: ControlTable, **equal: str) -> list[Record]:
        """All rows whose named columns equal the given texts, in no order."""
        try:
            opened = self.catalog.load_table(table.name)
        except NoSuchTableError:
            return []
        found = opened.scan(row_filter=_all_equal(equal)).to_arrow().to_pylist()
        return [_row(table.row, values) for values in found]

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

    def schema_versions(self, source: str) -> tuple[SchemaVersionRow, ...]:
        """All recorded schema versions of a source's tables, oldest first."""
        rows = self.rows(SCHEMA_VERSIONS, source=source)
        found = [row for row in rows if isinstance(row, SchemaVersionRow)]
        return tuple(sorted(found, key=lambda row: (row.recorded_at, row.offset)))

    def cuts(self, source: str) -> list[CutRow]:
        """All states of all cuts of a source, by cut id and time."""
        found = [row for row in self.rows(CUTS, source=source) if isinstance(row, CutRow)]
        return sorted(found, key=lambda row: (row.cut_id, row.recorded_at))

    def newest_cut(self, source: str) -> CutRow | None:
        """The newest published cut; None before the first one."""
        published = [row for row in self.cuts(source) if row.state == "published"]
        return published[-1] if published else None

    def pending_cut(self, source: str) -> CutRow | None:
        """The cut that was announced and never published; None when every cut is."""
        cuts = self.cuts(source)
        published = {row.cut_id for row in cuts if row.state == "published"}
        return next((row for row in reversed(cuts) if row.cut_id not in published), None)

    def _open_or_create(self, table: ControlTable) -> Table:
        try:
            opened = self.catalog.load_table(table.name)
        except NoSuchTableError:
            return self._create(table)
        schema = _arrow_schema(table.row)
        if set(schema.names) - set(opened.schema().column_names):
            # An earlier version of the project made the table.
            with opened.update_schema() as update:
                update.union_by_name(schema)
        return opened

    def _create(self, table: ControlTable) -> Table:
        ensure_namespace(self.catalog, table.name.partition(".")[0])
        try:
            created = self.catalog.create_table(
                table.name, schema=_arrow_schema(table.row), properties=_PROPERTIES
            )
        except TableAlreadyExistsError:
            return self.catalog.load_table(table.name)
        with created.update_spec() as spec:
            spec.add_field("source", IdentityTransform())
        return self.catalog.load_table(table.name)


def _all_equal(equal: Mapping[str, str]) -> BooleanExpression:
    terms: list[BooleanExpression] = [
        EqualTo(term=name, value=value) for name, value in equal.items()
    ]
    expression = terms[0]
    for term in terms[1:]:
        expression = And(expression, term)
    return expression


def _arrow_schema(row: type[Record]) -> pa.Schema:
    hints = typing.get_type_hints(row)
    return pa.schema(
        [pa.field(f.name, _ARROW[hints[f.name]], nullable=True) for f in dataclasses.fields(row)]
    )


def _row(row: type[Record], values: Mapping[str, object]) -> Record:
    hints = typing.get_type_hints(row)
    kept = {f.name: _python(values.get(f.name), hints[f.name]) for f in dataclasses.fields(row)}
    return row(**kept)  # type: ignore[arg-type]


def _python(value: object, hint: object) -> object:
    if hint == tuple[str, ...]:
        return tuple(typing.cast("Iterable[str]", value or ()))
    if isinstance(hint, types.GenericAlias) or typing.get_origin(hint) is not None:
        return dict(typing.cast("Iterable[tuple[str, int]]", value or ()))
    return "" if value is None and hint is str else value
