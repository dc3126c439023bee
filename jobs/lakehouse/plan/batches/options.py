"""Row options of a table: deleted rows that stay, history, masks; and whether they can be kept.

In: the plan of a table's batch, what the TOML file says about it, what silver has. Out: the plan
with the options, or held with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakehouse.config import TableConfig
from lakehouse.names import near_name
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.masks import MASKED, mask_docs
from lakehouse.plan.batches.tables import TablePlan, TopicPartition
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.schema import SchemaPlan

# Of two names: `nvv` is near to `nv`, `phone` not to `mobile`.
_NEAR = 0.75
_OR_REBUILD = "or drop the silver tables of the source and have them built again from bronze"


@dataclass(frozen=True, slots=True)
class OptionFacts:
    """What is known of a table before the batch that its options must fit.

    Attributes:
        stored_docs: Silver's columns and their docs; empty where there is no table yet.
        fingerprint: Names the secret that values are hashed with; empty for none.
        former: Names that columns had before the source renamed them, in lower case.
        stored_soft: Whether silver may have rows that are only marked as deleted.
    """

    stored_docs: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    former: Collection[str] = ()
    stored_soft: bool = False


def with_options(
    plan: TablePlan,
    groups: Sequence[Group],
    schemas: Iterable[RowSchema],
    options: TableConfig,
    facts: OptionFacts,
) -> TablePlan:
    """The plan with the table's row options.

    Args:
        plan: From `plan_table`.
        groups: The table's groups.
        schemas: The schemas of the batch, masked.
        options: What the TOML file says about the table.
        facts: What silver has and the masks want.
    """
    unused = _unused(schemas, {*facts.stored_docs, *facts.former}, options)
    reason = (
        _needs_key(plan, options)
        or _masked_key(plan, groups, options)
        or _mistyped_mask(unused, facts)
        or _other_mask(facts.stored_docs, options, facts.fingerprint)
        or _marked_rows(options, is_soft=facts.stored_soft)
    )
    if not reason:
        notes = tuple(_hides_nothing(name, near) for name, near in unused.items())
        soft = options.delete == "soft"
        return replace(
            plan,
            soft=soft,
            becomes_soft=soft and bool(facts.stored_docs) and not facts.stored_soft,
            history=options.history,
            notes=(*plan.notes, *notes),
        )
    return replace(
        plan,
        versions=(),
        schema=SchemaPlan(),
        defaults={},
        truncate="",
        read_again=False,
        renames=(),
        dropped=(),
        limits=_firsts(groups),
        hold=reason,
    )


def _needs_key(plan: TablePlan, options: TableConfig) -> str:
    if not plan.versions or not plan.is_bag:
        return ""
    wanted = "delete = 'soft'" if options.delete == "soft" else "history = true"
    if options.delete == "soft" or options.history:
        return (
            f"{wanted} needs a key, and its events have none: name the columns that identify a "
            "row in the TOML file (key = [...])"
        )
    return ""


def _masked_key(plan: TablePlan, groups: Iterable[Group], options: TableConfig) -> str:
    """A key is found again by its hash; what is dropped or made equal identifies no row."""
    shapes = {group.key_fields for group in groups if group.rows and group.key_fields}
    of_events = {str(name) for shape in shapes for name in json.loads(shape)}
    # An event key that the TOML file replaces identifies nothing.
    key = {name.lower() for name in (plan.key if plan.key_in_row else {*of_events, *plan.key})}
    for name, column in options.columns.items():
        if column.mask not in (None, "hash") and name.lower() in key:
            return (
                f"column {name!r} has the mask {column.mask!r} and is part of the key, by which "
                "rows are found: set columns." + name + ".mask = 'hash' in the TOML file"
            )
    return ""


def _other_mask(stored_docs: Mapping[str, str], options: TableConfig, fingerprint: str) -> str:
    """Stored values are not masked again, and those of two masks are never mixed."""
    wanted = mask_docs(options, fingerprint)
    for name, doc in stored_docs.items():
        stored = doc if doc.startswith(MASKED) else "not masked"
        mask = wanted.get(name.lower(), "not masked")
        if stored != mask:
            return (
                f"column {name!r} is stored as {stored!r}, and {mask!r} is wanted now: take the "
                f"change of the mask (or of LAKEHOUSE_MASK_KEY) back, {_OR_REBUILD}"
            )
    return ""


def _marked_rows(options: TableConfig, *, is_soft: bool) -> str:
    """A reader of a table with hard deletes would take marked rows for live ones."""
    if not is_soft or options.delete == "soft":
        return ""
    return (
        f"delete = 'soft' has left marked rows in silver, and {options.delete!r} is wanted now: "
        f"take the change back, {_OR_REBUILD}"
    )


def _mistyped_mask(unused: Mapping[str, str], facts: OptionFacts) -> str:
    """Before a table has rows, a mask that is likely another column's lets nothing be published."""
    slip = next((name for name, near in unused.items() if near), None)
    if slip is None or facts.stored_docs:
        return ""
    return (
        f"{_hides_nothing(slip, unused[slip])} Its values would be published as they are: correct "
        "the name in the TOML file, or take the mask out until the column is there"
    )


def _hides_nothing(name: str, near: str) -> str:
    said = f"the mask of column {name!r} hides nothing: the table has no such column"
    return f"{said}: did you mean {near!r}?" if near else said


def _unused(
    schemas: Iterable[RowSchema], columns: Iterable[str], options: TableConfig
) -> dict[str, str]:
    """Masks of none of the columns that there are or were, and the column that each may mean."""
    schemas = list(schemas)
    known = {name.lower() for name in columns}
    unused = [set(schema.unused_masks) for schema in schemas]
    found = sorted(set.intersection(*unused)) if unused else ()
    masked = {name.lower() for name, column in options.columns.items() if column.mask}
    sent = sorted({column.name for schema in schemas for column in schema.columns})
    others = [name for name in sent if name.lower() not in masked]
    return {name: near_name(name, others, _NEAR) for name in found if name.lower() not in known}


def _firsts(groups: Iterable[Group]) -> dict[TopicPartition, int]:
    firsts: dict[TopicPartition, int] = {}
    for group in groups:
        place = (group.topic, group.partition)
        firsts[place] = min(firsts.get(place, group.first_offset), group.first_offset)
    return firsts
