"""The rows of control tables as Arrow has them, and back.

In: dataclasses of `plan.records`. Out: their columns and values.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import pyarrow as pa

from lakehouse.plan.records import Record

_ARROW: Mapping[object, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    bool: pa.bool_(),
    datetime: pa.timestamp("us", tz="UTC"),
    tuple[str, ...]: pa.list_(pa.string()),
    Mapping[str, int]: pa.map_(pa.string(), pa.int64()),
}


def arrow_schema(row: type[Record]) -> pa.Schema:
    """The columns of a control table."""
    hints = typing.get_type_hints(row)
    return pa.schema(
        [pa.field(f.name, _ARROW[hints[f.name]], nullable=True) for f in dataclasses.fields(row)]
    )


def to_arrow(row: type[Record], rows: Sequence[Record]) -> pa.Table:
    """Rows of one control table, as PyIceberg writes them."""
    values = [dataclasses.asdict(record) for record in rows]
    for value in values:
        for name, content in value.items():
            if isinstance(content, Mapping):
                value[name] = list(content.items())
            elif isinstance(content, tuple):
                value[name] = list(content)
    return pa.Table.from_pylist(values, schema=arrow_schema(row))


def to_records(row: type[Record], read: Iterable[Mapping[str, object]]) -> list[Record]:
    """Rows as they were read; a column that an older table lacks is empty."""
    hints = typing.get_type_hints(row)
    names = [field.name for field in dataclasses.fields(row)]
    return [
        row(**{name: _python(values.get(name), hints[name]) for name in names})  # type: ignore[arg-type]
        for values in read
    ]


def _python(value: object, hint: object) -> object:
    if hint == tuple[str, ...]:
        return tuple(typing.cast("Iterable[str]", value or ()))
    if isinstance(hint, types.GenericAlias) or typing.get_origin(hint) is not None:
        return dict(typing.cast("Iterable[tuple[str, int]]", value or ()))
    return "" if value is None and hint is str else value
