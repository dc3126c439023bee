"""The types of JSON values, as Spark's `schema_of_variant` writes them.

In: text such as `OBJECT<id: BIGINT, `a b`: ARRAY<STRING>>`. Out: the members of an object
(https://spark.apache.org/docs/4.1.0/api/sql/#schema_of_variant).
"""

from __future__ import annotations

import re

_OBJECT = re.compile(r"OBJECT<(.*)>", re.DOTALL)
# A name that is none of letters, digits and `_` is quoted, and may hold anything.
_PART = re.compile(r"`(?:[^`]|``)*`|[<>]|, |[^`<>,]+|,")


def object_members(text: str | None) -> dict[str, str]:
    """The members of an object, name → type, in the order of their names.

    Args:
        text: The type; of what is no object there are none.
    """
    found = _OBJECT.fullmatch(text or "")
    members: dict[str, str] = {}
    for member in _members(found[1]) if found else ():
        quoted = re.match(r"`((?:[^`]|``)*)`: ", member)
        if quoted:
            members[quoted[1].replace("``", "`")] = member[quoted.end() :]
        else:
            name, _, kind = member.partition(": ")
            members[name] = kind
    return dict(sorted(members.items()))


def _members(text: str) -> list[str]:
    """The parts between commas that are in no brackets and no quotes."""
    depth, members = 0, [""]
    for part in _PART.findall(text):
        depth += {"<": 1, ">": -1}.get(part, 0)
        if part == ", " and not depth:
            members.append("")
        else:
            members[-1] += part
    return [member for member in members if member]
