"""Columns of a table as schema change events tell them, and what changed between two versions.

In: the columns of a version and of the one before. Out: change kinds, and JSON text of columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakehouse.config import ChangeKind
from lakehouse.quality.schemas.source_types import size_rank

COMPARED: Mapping[str, ChangeKind] = {
    "charsetName": "character_set",
    "enumValues": "enum_values",
    "comment": "comment",
}
"""Members of a column that are compared as they are, and what a difference is."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as the schema change event describes it.

    Attributes:
        type: The source's type; length and scale stand apart.
        extra: Character set, comment and enum values as JSON text, for comparing.
        was: Its name before the change, where the statement renames it; else empty.
        anew: Whether the statement drops the column of that name and adds this one.
    """

    name: str
    type: str
    length: int | None
    scale: int | None
    optional: bool
    default: str | None
    key: bool
    extra: str
    was: str = ""
    anew: bool = False

    @property
    def type_text(self) -> str:
        """The type as the source writes it."""
        sizes = [str(size) for size in (self.length, self.scale) if size is not None]
        return f"{self.type}({','.join(sizes)})" if sizes else self.type


def change_kinds(
    before: Sequence[TableColumn] | None, after: Sequence[TableColumn]
) -> tuple[ChangeKind, ...]:
    """What changed from one version of a table to the next; None is no table before."""
    if not after:
        return ("drop_table",)
    if before is None:
        return ("create_table",)
    anew = {column.name.lower() for column in after if column.anew}
    left = [column for column in before if column.name.lower() not in anew]
    renamed = _under_new_names(left, after)
    kinds: set[ChangeKind] = {"rename_column"} if renamed != left else set()
    if len(renamed) < len(before):
        kinds.add("drop_column")
    before = renamed
    old, new = {c.name: c for c in before}, {c.name: c for c in after}
    if new.keys() - old.keys():
        kinds.add("add_column")
    if old.keys() - new.keys():
        kinds.add("drop_column")
    both = [name for name in new if name in old]
    if both != [name for name in old if name in new]:
        kinds.add("reorder_columns")
    if [c.name for c in before if c.key] != [c.name for c in after if c.key]:
        kinds.add("primary_key")
    for name in both:
        kinds |= _column_kinds(old[name], new[name])
    return tuple(sorted(kinds))


def columns_json(columns: Sequence[TableColumn]) -> str:
    """Columns as `quality.schema_versions.columns` holds them."""
    return json.dumps(
        [
            {
                "name": c.name,
                "type": c.type_text,
                "optional": c.optional,
                "default": c.default,
                "key": c.key,
                "was": c.was,
                "of": [c.type, c.length, c.scale, c.extra],
            }
            | ({"anew": True} if c.anew else {})
            for c in columns
        ]
    )


def columns_from_json(text: str) -> tuple[TableColumn, ...]:
    """Read what `columns_json` wrote."""
    return tuple(
        TableColumn(
            name=c["name"],
            type=c["of"][0],
            length=c["of"][1],
            scale=c["of"][2],
            optional=c["optional"],
            default=c["default"],
            key=c["key"],
            extra=c["of"][3],
            was=c.get("was", ""),
            anew=c.get("anew", False),
        )
        for c in json.loads(text)
    )


def _under_new_names(
    before: Sequence[TableColumn], after: Sequence[TableColumn]
) -> list[TableColumn]:
    there = {column.name.lower() for column in before}
    names = {c.was.lower(): c.name for c in after if c.was.lower() in there}
    taken = {name.lower() for name in names.values()} - names.keys()
    # A column whose name another one takes is gone.
    left = (c for c in before if c.name.lower() not in taken or c.name.lower() in names)
    return [replace(c, name=names.get(c.name.lower(), c.name)) for c in left]


def _column_kinds(old: TableColumn, new: TableColumn) -> set[ChangeKind]:
    kinds: set[ChangeKind] = set()
    if _sized(old) != _sized(new):
        kinds.add(_type_kind(old, new))
    if old.optional != new.optional:
        kinds.add("nullability")
    if old.default != new.default:
        kinds.add("default")
    was, wanted = json.loads(old.extra), json.loads(new.extra)
    # Where one topic has none, another has an empty list or text.
    told = (
        (kind, was.get(name) or None, wanted.get(name) or None) for name, kind in COMPARED.items()
    )
    return kinds | {kind for kind, before, after in told if before != after}


def _sized(column: TableColumn) -> tuple[str, int | None, int | None]:
    """The type; the length of a whole number is that of its display."""
    if size_rank(column.type):
        return column.type.lower(), None, None
    return column.type, column.length, column.scale


def _type_kind(old: TableColumn, new: TableColumn) -> ChangeKind:
    was, wanted = size_rank(old.type), size_rank(new.type)
    if was and wanted and was[0] == wanted[0]:
        return "widen_type" if wanted[1] > was[1] else "narrow_type"
    if old.type != new.type or old.scale != new.scale or old.length is None or new.length is None:
        return "change_type"
    return "widen_type" if new.length > old.length else "narrow_type"
