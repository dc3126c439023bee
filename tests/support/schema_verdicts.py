"""What becomes of each kind of schema change in each mode, and what connectors cannot show of it.

Both the matrix of messages in wire form and that of the stack's databases are compared with it.
"""

from __future__ import annotations

from lakehouse.plan.records import EVOLVE, HOLD, KEEP
from tests.support.schema_messages import SHAPES

MODES = ("evolve", "try_evolve", "lenient", "ignore", "fail")
Verdicts = dict[str, str]

FOLLOWED = dict(zip(MODES, (EVOLVE, EVOLVE, EVOLVE, KEEP, HOLD), strict=True))
# Silver's columns and values stay as they are.
UNTOUCHED = dict(zip(MODES, (EVOLVE, EVOLVE, EVOLVE, EVOLVE, HOLD), strict=True))
GONE = dict(zip(MODES, (EVOLVE, EVOLVE, KEEP, KEEP, HOLD), strict=True))
RETYPED = dict(zip(MODES, (HOLD, KEEP, KEEP, KEEP, HOLD), strict=True))
HELD = dict.fromkeys(MODES, HOLD)
NEW = dict.fromkeys(MODES, EVOLVE)
VERDICTS = {
    "create_table": NEW,
    "drop_table": UNTOUCHED,
    "rename_table": UNTOUCHED,
    "swap_table": FOLLOWED,  # It widens a column, for that is what such a swap is for.
    "add_column": FOLLOWED,
    "drop_column": GONE,
    "rename_column": GONE,
    "reorder_columns": FOLLOWED,
    "widen_type": FOLLOWED,
    "narrow_type": RETYPED,
    "change_type": RETYPED,
    "nullability": FOLLOWED,
    "default": FOLLOWED,
    "primary_key": HELD,
    "character_set": UNTOUCHED,
    "enum_values": FOLLOWED,
    "comment": UNTOUCHED,
    "constraint": UNTOUCHED,
}
_DROPPED_AND_ADDED = ({"add_column", "drop_column"}, GONE)
_ANOTHER_TABLE = ({"create_table"}, NEW)
# Connector and kind → what is seen instead with which verdicts, and why.
UNSEEN: dict[tuple[str, str], tuple[set[str], Verdicts, str]] = {
    ("oracle", "swap_table"): (
        {"create_table", "drop_table", "rename_table"},
        UNTOUCHED,
        "two statements do it, between which no table has the name",
    ),
    ("postgresql", "drop_table"): (set(), NEW, "no message tells that a table is dropped"),
    ("postgresql", "swap_table"): ({"widen_type"}, FOLLOWED, "events carry no table's identity"),
    ("postgresql", "comment"): (set(), NEW, "a row's schema has no comments"),
    **{
        (name, "rename_column"): (*_DROPPED_AND_ADDED, "no statement is sent")
        for name in (*SHAPES, "postgresql")
    },
    **{
        (name, "rename_table"): (*_ANOTHER_TABLE, "no statement is sent")
        for name in (*SHAPES, "postgresql")
    },
    **{(name, "swap_table"): ({"widen_type"}, FOLLOWED, "no statement is sent") for name in SHAPES},
    **{
        (name, "constraint"): (set(), NEW, "only statements tell constraints, and none is sent")
        for name in (*SHAPES, "postgresql")
    },
    **{(name, "comment"): (set(), NEW, "columns come without comments") for name in SHAPES},
    **{
        (name, "character_set"): (set(), NEW, "all text is sent as UTF-8, its set is not told")
        for name in (*SHAPES, "oracle", "postgresql")
    },
    **{
        (name, "enum_values"): (set(), NEW, "the database has no enums")
        for name in (*SHAPES, "oracle")
    },
}


def expected(connector: str, kind: str) -> tuple[set[str], Verdicts]:
    """The kinds that are seen of a change, and the verdict about it in each mode."""
    if (connector, kind) in UNSEEN:
        return UNSEEN[connector, kind][:2]
    return {kind}, VERDICTS[kind]


def seen_of(connector: str, kind: str, kinds: set[str]) -> set[str]:
    """Of the kinds that were seen of a change those that count: it may come with others."""
    return kinds if (connector, kind) in UNSEEN else kinds & {kind}
