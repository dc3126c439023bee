"""How a row is named: text over its key, or over its whole image where it has none."""

from __future__ import annotations

from collections.abc import Iterable

from lakehouse.names import quote_ident
from lakehouse.plan.tables import TablePlan


def key_text(plan: TablePlan, struct: str = "") -> str:
    """SQL for text that names a key: a JSON list of its values, in the order of the key's columns.

    Args:
        plan: Its key and the types of its columns.
        struct: What has the key's columns; empty for the table's own.
    """
    prefix = f"{struct}." if struct else ""
    return _json_list(_text(plan, name, prefix) for name in plan.key)


def row_key(plan: TablePlan, struct: str = "") -> str:
    """SQL for text that names a row of a bag: the same for equal rows alone.

    Args:
        plan: The columns and their types.
        struct: What has the columns; empty for the table's own.
    """
    prefix = f"{struct}." if struct else ""
    return f"sha2({_json_list(_text(plan, name, prefix) for name in plan.columns)}, 256)"


def _json_list(texts: Iterable[str]) -> str:
    return f"to_json(array({', '.join(texts)}), map('ignoreNullFields', 'false'))"


def _text(plan: TablePlan, name: str, prefix: str) -> str:
    value = f"{prefix}{quote_ident(name)}"
    # Bytes are seldom text: as text, different ones would become the same.
    return f"hex({value})" if plan.columns[name] == "binary" else f"CAST({value} AS string)"
