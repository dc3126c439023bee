"""Types as sources write them: what their names alone tell of two of them.

In: the type of a column in a schema change event. Out: its name without sizes, and where it stands
among types of one family, each of which holds all values of those before it.
"""

from __future__ import annotations

import re

_SIZES = re.compile(r" *\( *\d+ *(?:, *-?\d+ *)?\)")
# Each holds every value of those before it, in each source that has both.
_FAMILIES = (
    ("tinyint", "smallint", "mediumint", "int", "bigint"),
    ("real", "float", "double"),
    ("binary_float", "binary_double"),
    ("tinytext", "text", "mediumtext", "longtext"),
    ("tinyblob", "blob", "mediumblob", "longblob"),
)
_RANKS = {
    name: (number, rank)
    for number, family in enumerate(_FAMILIES)
    for rank, name in enumerate(family)
}
_SYNONYMS = {"integer": "int", "int2": "smallint", "int4": "int", "int8": "bigint"}


def without_sizes(type_text: str) -> str:
    """The type without its length and scale: they stand apart in a schema change event."""
    return _SIZES.sub("", type_text)


def size_rank(type_text: str) -> tuple[object, int] | None:
    """Family and place in it; types with other words, such as UNSIGNED, are another family."""
    first, *rest = type_text.lower().split() or [""]
    found = _RANKS.get(_SYNONYMS.get(first, first))
    return None if found is None else ((found[0], *rest), found[1])
