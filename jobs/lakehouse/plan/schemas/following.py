"""The TOML file after the source renamed what it names: masks and types follow tables and columns.

In: the file, and what the source's statements did. Out: the file as if it named what there is now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakehouse.config import SourceConfig, TableConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity, format_table, parse_table
from lakehouse.plan.schemas.incarnations import Incarnations, Parts
from lakehouse.plan.schemas.renames import Rename


def follow_renames(
    source: SourceConfig, renamed: Mapping[Parts, Sequence[Rename]], lives: Incarnations
) -> SourceConfig:
    """The source's TOML file, in which what was renamed keeps its options.

    Args:
        source: As the file says.
        renamed: The parts of a table's name → the columns that the source renamed, in order.
        lives: What the source did to whole tables; a silver name is not taken along.
    """
    tables = {
        parse_table(text, source.connector).parts(source.connector): options
        for text, options in source.tables.items()
    }
    for life in lives.lives():
        if life.table != life.parts and life.parts in tables:
            taken = tables[life.parts].model_copy(update={"table": None})
            tables.setdefault(life.table, taken)
            renamed = {
                **renamed,
                life.table: (*renamed.get(life.parts, ()), *renamed.get(life.table, ())),
            }
    followed = {
        _text(parts, source.connector): _with_new_names(options, renamed.get(parts, ()))
        for parts, options in tables.items()
    }
    return source.model_copy(update={"tables": followed})


def _text(parts: Parts, connector: str) -> str:
    names = CONNECTORS[connector].identity_parts
    return format_table(TableIdentity.of_parts(parts, names), connector)


def _with_new_names(options: TableConfig, renamed: Sequence[Rename]) -> TableConfig:
    columns = dict(options.columns)
    for rename in renamed:
        known = {name.lower(): column for name, column in columns.items()}
        was, name = (rename.name, rename.was) if rename.comes else (rename.was, rename.name)
        if was.lower() in known and name.lower() not in known:
            columns[name] = known[was.lower()]
    return options.model_copy(update={"columns": columns})
