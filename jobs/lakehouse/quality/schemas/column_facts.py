"""What recorded schema versions say of a table's columns, as validation looks at its rows.

In: rows of `quality.schema_versions`. Out: for each table the ranges of its numbers in the source,
and its lossy columns where this run brought a version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.schemas.losses import lossy_columns

_LENGTH = re.compile(r"\([0-9, ]*\)|\bzerofill\b")


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of the columns of one table.

    Attributes:
        ranges: Column in lower case → the least and the greatest number of its type in the source.
        lossy: Its lossy columns, each with the reason; none where the run brought no version.
    """

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lossy: tuple[str, ...] = ()


NO_FACTS = ColumnFacts()


def column_facts(
    rows: Sequence[SchemaVersionRow],
    source: SourceConfig,
    run_id: str,
    tables: Collection[TableIdentity],
) -> dict[tuple[str, ...], ColumnFacts]:
    """Parts of a source table's name → what is known of its columns.

    Args:
        rows: Of `quality.schema_versions`, oldest first.
        source: The source; its types are the newest that anything says.
        run_id: The run that validates.
        tables: Those that are asked about.
    """
    connector = CONNECTORS[source.connector]
    by_table: dict[tuple[str, ...], list[SchemaVersionRow]] = {
        table.parts(source.connector): [] for table in tables
    }
    for row in rows:
        if (mine := by_table.get(row.source_table.parts(source.connector))) is not None:
            mine.append(row)
    return {
        table: ColumnFacts(
            ranges={
                name: bounds
                for name, text in _types(mine, source).items()
                if (bounds := connector.ranges.get(_bare(text))) is not None
            },
            lossy=tuple(
                column for columns in lossy_columns(mine, source).values() for column in columns
            )
            if any(row.run_id == run_id and not row.is_from_ddl for row in mine)
            else (),
        )
        for table, mine in by_table.items()
    }


def _types(rows: Iterable[SchemaVersionRow], source: SourceConfig) -> dict[str, str]:
    """Column in lower case → its newest type in the source's own words; the TOML file says it."""
    found: dict[str, str] = {}
    declared: dict[str, str] = {}
    for row in rows:
        columns = source.table_options(row.source_table).columns
        declared = {name.lower(): each.type for name, each in columns.items() if each.type}
        for value in json.loads(row.columns):
            text = value["type"] if row.is_from_ddl else value.get("source_type")
            if text:
                found[str(value["name"]).lower()] = str(text)
    return found | declared


def _bare(text: str) -> str:
    """A type without its length, in lower case: `INT(10) UNSIGNED` is `int unsigned`."""
    return " ".join(_LENGTH.sub(" ", text.lower()).split())
