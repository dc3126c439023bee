"""Silver at a published cut against the database, row by row and value by value.

In: the newest published cut and the database, neither of which changes meanwhile. Out: one
comparison for each table of the database. Kafka is not asked: it could hide what it lost.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.catalog import Catalog

from infra.source_rows import Reading, reading
from infra.sources import SAMPLE_SOURCES, Database
from lakehouse.config import SourceConfig
from lakehouse.names import format_table, silver_names, silver_namespace
from lakehouse.plan.reconciling.canonical import Canonical, canonical
from lakehouse.plan.reconciling.tables import SourceTable
from lakehouse.plan.records import CutRow

Row = Mapping[str, Canonical]

_SHOWN = 5
# Columns of the pipeline's own; a source column of that name makes it `_cdc_<hash>`.
_OWN_COLUMN = "_cdc"


@dataclass(frozen=True, slots=True)
class TableComparison:
    """How one table of the database and its silver table compare.

    Attributes:
        silver_rows: None when the cut has no such table.
        differences: How many keys, or whole columns, differ.
        examples: The first of them, as sentences.
    """

    table: str
    silver: str
    source_rows: int
    silver_rows: int | None
    differences: int
    examples: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether all rows and values are the same."""
        return self.differences == 0


def compare_source(
    source: SourceConfig,
    database: Database,
    catalog: Catalog,
    cut: CutRow | None,
    *,
    only: Collection[str] | None = None,
    dropped: Mapping[str, Collection[str]] | None = None,
) -> tuple[TableComparison, ...]:
    """Compare every table of a source; without a cut nothing is equal.

    Args:
        source: The source.
        database: Where its rows are.
        catalog: Where silver is.
        cut: The published cut that is compared.
        only: Names of tables in the database; None compares all.
        dropped: Columns that the source has dropped and silver keeps, by table.
    """
    with reading(database) as state:
        return _compare(source, state, catalog, cut, only, dropped or {})


def _compare(
    source: SourceConfig,
    state: Reading,
    catalog: Catalog,
    cut: CutRow | None,
    only: Collection[str] | None,
    dropped: Mapping[str, Collection[str]],
) -> tuple[TableComparison, ...]:
    tables = source_tables(source, state)
    names = silver_names(
        (table.identity for table in tables),
        source.connector,
        configured=source.configured_names(),
    )
    found = cut.tables if cut else {}
    excluded: Mapping[str, object] = json.loads(cut.excluded) if cut and cut.excluded else {}
    return tuple(
        _compare_table(
            format_table(table.identity, source.connector),
            table,
            source_rows(state, table),
            f"{silver_namespace(source.name)}.{names[table.identity]}",
            (catalog, found, excluded),
            dropped.get(table.identity.table, ()),
        )
        for table in tables
        if only is None or table.identity.table in only
    )


def source_tables(source: SourceConfig, state: Reading) -> tuple[SourceTable, ...]:
    """The tables whose rows become silver, sorted: control tables are none of them."""
    found = state.tables([SAMPLE_SOURCES[state.database.database].captured_schema])
    return tuple(table for table in found if not source.is_control_table(table.identity))


def source_rows(state: Reading, table: SourceTable) -> list[Row]:
    """All rows of a table, in canonical form."""
    return [
        {
            name: canonical(value, kind)
            for (name, kind), value in zip(table.columns.items(), values, strict=True)
        }
        for values in state.rows(table.identity, table.columns)
    ]


def _compare_table(
    title: str,
    table: SourceTable,
    expected: list[Row],
    silver: str,
    cut: tuple[Catalog, Mapping[str, int], Mapping[str, object]],
    dropped: Collection[str],
) -> TableComparison:
    catalog, snapshots, excluded = cut
    if silver not in snapshots:
        reason = f"excluded: {excluded[silver]}" if silver in excluded else "not in the cut"
        return TableComparison(title, silver, len(expected), None, 1, (reason,))
    columns, actual = _silver_rows(catalog, silver, snapshots[silver], table)
    wrong = [
        *_column_differences(table, [name for name in columns if name not in dropped]),
        *row_differences(table.key, expected, actual),
        *([f"excluded: {excluded[silver]}"] if silver in excluded else []),
    ]
    return TableComparison(
        title, silver, len(expected), len(actual), len(wrong), tuple(wrong[:_SHOWN])
    )


def _silver_rows(
    catalog: Catalog, silver: str, snapshot_id: int, table: SourceTable
) -> tuple[tuple[str, ...], list[Row]]:
    """Silver's columns and its rows with the source's columns, in canonical form."""
    scan = catalog.load_table(silver).scan(snapshot_id=snapshot_id)
    fields = scan.projection().fields
    docs = {field.name: field.doc or "" for field in fields if field.name in table.columns}
    rows = scan.select(*docs).to_arrow().to_pylist()
    return tuple(field.name for field in fields), [
        {name: canonical(row[name], table.columns[name], doc) for name, doc in docs.items()}
        for row in rows
    ]


def _column_differences(table: SourceTable, columns: Iterable[str]) -> list[str]:
    present = {name for name in columns if not name.startswith(_OWN_COLUMN)}
    missing = [f"column {name!r} is missing in silver" for name in table.columns.keys() - present]
    extra = [f"column {name!r} is only in silver" for name in present - table.columns.keys()]
    return sorted(missing) + sorted(extra)


def row_differences(key: tuple[str, ...], expected: list[Row], actual: list[Row]) -> list[str]:
    """Every key that differs, as a sentence that names it.

    Args:
        key: The key's columns; without any, equal rows are counted.
        expected: The database's rows, in canonical form.
        actual: Silver's.
    """
    if not key:
        return _bag_differences(expected, actual)
    by_key = {_key(row, key): row for row in expected}
    counts = Counter(_key(row, key) for row in actual)
    found = {_key(row, key): row for row in actual}
    wrong = [f"{_show(key, k)}: {n} rows in silver" for k, n in counts.items() if n > 1]
    wrong += [f"{_show(key, k)}: only in the source" for k in by_key.keys() - found.keys()]
    wrong += [f"{_show(key, k)}: only in silver" for k in found.keys() - by_key.keys()]
    for k in by_key.keys() & found.keys():
        wrong += _value_differences(_show(key, k), by_key[k], found[k])
    return sorted(wrong)


def _bag_differences(expected: list[Row], actual: list[Row]) -> list[str]:
    # Their `repr`, since JSON cannot be hashed; it is sorted, since JSON objects have no order.
    wanted, found = (Counter(_row_text(row) for row in rows) for rows in (expected, actual))
    return sorted(
        f"{_short(text)}: {found[text]} rows in silver, {wanted[text]} in the source"
        for text in wanted.keys() | found.keys()
        if wanted[text] != found[text]
    )


def _row_text(row: Row) -> str:
    return ", ".join(f"{name}={_sorted(value)!r}" for name, value in sorted(row.items()))


def _sorted(value: Canonical) -> Canonical:
    if isinstance(value, Mapping):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _value_differences(key: str, expected: Row, actual: Row) -> list[str]:
    different = [
        f"{name} is {_short(actual[name])}, in the source {_short(value)}"
        for name, value in expected.items()
        if name in actual and actual[name] != value
    ]
    return [f"{key}: {'; '.join(different)}"] if different else []


def _key(row: Row, key: tuple[str, ...]) -> tuple[Canonical, ...]:
    return tuple(row.get(name) for name in key)


def _show(names: tuple[str, ...], values: tuple[Canonical, ...]) -> str:
    return ", ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))


def _short(value: Canonical) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
