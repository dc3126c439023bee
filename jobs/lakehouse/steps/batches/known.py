"""What is known of a source's tables before a batch, from the schema versions that are recorded.

In: rows of `quality.schema_versions`, the newest cut. Out: by table, what its columns became, why
it is held, and what its older rows may lack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.config.table_sections import TableSchemaChangesConfig
from lakehouse.names import TableIdentity, parse_table
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import CutRow, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Incarnations, Parts
from lakehouse.plan.schemas.renames import Rename
from lakehouse.plan.schemas.schema import RENAMING
from lakehouse.quality.schemas.column_lives import Follows
from lakehouse.quality.schemas.dropped_columns import Dropped, dropped_columns
from lakehouse.quality.schemas.held import approve_command
from lakehouse.quality.schemas.rewritten_columns import Rewriting, rewritings
from lakehouse.quality.schemas.statements import additions, renames
from lakehouse.quality.schemas.versions import holds, keeping


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a source's tables before the batch.

    Attributes:
        columns: Table of today and incarnation → the columns that the source renamed, by position.
        holds: Table → fingerprint → why it is held.
        kept: The tables of which a version is followed as far as their columns stay as they are.
        progress: That of the newest cut.
        additions: Table of today and incarnation → statements that may add columns, with its name.
        dropped: The same → the columns that leave silver.
        rewritings: Table of today → fingerprint → what that version changed in older rows.
    """

    columns: Mapping[tuple[Parts, int], tuple[Rename, ...]]
    holds: Mapping[TableIdentity, Mapping[int, str]]
    kept: frozenset[TableIdentity]
    progress: Progress
    additions: Mapping[tuple[Parts, int], tuple[tuple[str, str], ...]]
    dropped: Mapping[tuple[Parts, int], Dropped]
    rewritings: Mapping[TableIdentity, Mapping[int, Rewriting]]


def known_of(
    source: SourceConfig,
    lives: Incarnations,
    recorded: Sequence[SchemaVersionRow],
    cut: CutRow | None,
) -> Known:
    """What is known of a source's tables.

    Args:
        source: The source.
        lives: The incarnations of its tables.
        recorded: Rows of `quality.schema_versions`, oldest first.
        cut: The newest one; None before the first.
    """
    return Known(
        renames(recorded, source.connector, lives, _renaming(source)),
        _holds(source, lives, recorded),
        frozenset(lives.today(t, source.connector) for t in keeping(recorded)),
        Progress.from_json(cut.offsets if cut else ""),
        additions(recorded, source.connector, lives),
        dropped_columns(recorded, source, lives),
        rewritings(recorded, source.connector, lives),
    )


def life_of(table: TableIdentity, connector: str) -> tuple[Parts, int]:
    """What names a table of today and its incarnation."""
    return table.parts(connector), table.incarnation


def _holds(
    source: SourceConfig, lives: Incarnations, recorded: Sequence[SchemaVersionRow]
) -> dict[TableIdentity, dict[int, str]]:
    """Table of today → version → why it is held, and the command that releases it."""
    found = {lives.today(t, source.connector): why for t, why in holds(recorded).items()}
    return {
        table: {
            fingerprint: f"{reason}: `{approve_command(source.name, table, source.connector)}`"
            for fingerprint, reason in reasons.items()
        }
        for table, reasons in found.items()
    }


def _renaming(source: SourceConfig) -> Follows:
    """Whether a table's columns are renamed with the source's, by the parts of its name."""
    differing = {
        parse_table(text, source.connector).parts(source.connector): options.schema_changes
        for text, options in source.tables.items()
    }
    same = TableSchemaChangesConfig()
    return lambda parts: differing.get(parts, same).over(source.schema_changes).mode in RENAMING
