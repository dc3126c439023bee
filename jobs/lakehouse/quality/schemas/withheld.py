"""What statements say of masked columns, withheld: it may be a value, such as a default.

In: schema change events, the TOML file. Out: the same without statements and parts of columns that
may quote one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.masks import masks_of
from lakehouse.plan.records import WITHHELD
from lakehouse.quality.schemas import ddl, table_changes


def masked_columns(
    source: SourceConfig, events: Iterable[ddl.SchemaEvent], identity: TableIdentity
) -> set[str]:
    """The table's masked columns, in lower case; also under the names that events give them."""
    masked = set(masks_of(source.table_options(identity)))
    for event in events if masked else ():
        for change in event.changes:
            if change.identity == identity:
                masked |= {c.name.lower() for c in change.columns if c.was.lower() in masked}
    return masked


def without_statement(
    event: ddl.SchemaEvent, masked: Callable[[TableIdentity], Container[str]]
) -> ddl.SchemaEvent:
    """The event without a statement that may quote a masked value, such as a default."""
    is_withheld = event.ddl and any(masked(each.identity) for each in event.changes)
    return replace(event, ddl=WITHHELD) if is_withheld else event


def without_values(
    change: table_changes.TableChange, masked: Container[str]
) -> table_changes.TableChange:
    """The change without what may be a value of a masked column: defaults, lists, comments."""
    columns = (
        replace(column, default=None, extra="{}") if column.name.lower() in masked else column
        for column in change.columns
    )
    return replace(change, columns=tuple(columns))
