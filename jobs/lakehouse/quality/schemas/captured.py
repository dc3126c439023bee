"""Which statements of the schema history are of tables that the source sends.

In: what the history tells, and which tables are known. Out: the changes of those tables, under all
the names that they had. The history has the statements about every table of the database server.
https://debezium.io/documentation/reference/stable/connectors/mysql.html
("schema.history.internal.store.only.captured.tables.ddl")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lakehouse.config import SourceConfig
from lakehouse.names import parse_table
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.quality.schemas.ddl import SchemaEvent
from lakehouse.quality.schemas.table_changes import TableChange


def captured_tables(
    source: SourceConfig, groups: Iterable[Group], recorded: Iterable[SchemaVersionRow]
) -> frozenset[Parts]:
    """The tables that a source sends: those of data events, and those that the TOML file names.

    Args:
        source: The file.
        groups: The profile of the batch.
        recorded: What `quality.schema_versions` has.
    """
    connector = source.connector
    tables = {group.identity for group in groups if group.identity}
    tables |= {row.source_table for row in recorded}
    tables |= {parse_table(text, connector) for text in source.tables}
    return frozenset(table.parts(connector) for table in tables)


def is_new_table(
    source: SourceConfig, groups: Iterable[Group], recorded: Iterable[SchemaVersionRow]
) -> bool:
    """Whether a batch has events of a table of which nothing is recorded.

    Args:
        source: Its connector.
        groups: The profile of the batch.
        recorded: What `quality.schema_versions` has.
    """
    known = captured_tables(source, (), recorded)
    tables = (g.identity for g in groups if g.identity and g.fingerprint is not None)
    return any(table.parts(source.connector) not in known for table in tables)


def of_captured(
    events: Sequence[SchemaEvent], captured: Iterable[Parts], connector: str
) -> tuple[SchemaEvent, ...]:
    """The events without the changes of other tables.

    Args:
        events: What the history tells.
        captured: The tables that the source sends.
        connector: Of the source.
    """
    known = {_folded(parts) for parts in captured}
    links = {_names(change, connector) for event in events for change in event.changes}
    links = {names for names in links if len(names) > 1}
    while linked := {names for names in links if names & known}:
        known |= frozenset.union(*linked)
        links -= linked
    return tuple(
        replace(
            event,
            changes=tuple(each for each in event.changes if _names(each, connector) & known),
        )
        for event in events
    )


def _names(change: TableChange, connector: str) -> frozenset[Parts]:
    """The names that a change tells of one table; a statement may write them in another case."""
    tables = (change.identity, *((change.was,) if change.was else ()))
    return frozenset(_folded(table.parts(connector)) for table in tables)


def _folded(parts: Parts) -> Parts:
    return tuple(part.lower() for part in parts)
