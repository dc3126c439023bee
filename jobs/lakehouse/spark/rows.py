"""How a row is named: text over its key, or over its whole image where it has none."""

from __future__ import annotations

from collections.abc import Mapping

from lakehouse.names import quote_ident
from lakehouse.plan.batches.tables import TablePlan


def key_text(plan: TablePlan, struct: str = "") -> str:
    """SQL for text that names a key: a JSON list of its values, in the order of the key's columns.

    Args:
        plan: Its key and the types of its columns.
        struct: What has the key's columns; empty for the table's own.
    """
    return values_text({name: plan.columns[name] for name in plan.key}, struct)


def row_key(plan: TablePlan, struct: str = "") -> str:
    """SQL for text that names a row of a bag: the same for equal rows alone.

    Args:
        plan: The columns and their types.
        struct: What has the columns; empty for the table's own.
    """
    return f"sha2({values_text(plan.columns, struct)}, 256)"


def values_text(columns: Mapping[str, str], struct: str = "") -> str:
    """SQL for a JSON list of the values of columns.

    Args:
        columns: Name → type.
        struct: What has them; empty for the table's own.
    """
    prefix = f"{struct}." if struct else ""
    texts = (_text(f"{prefix}{quote_ident(name)}", kind) for name, kind in columns.items())
    return f"to_json(array({', '.join(texts)}), map('ignoreNullFields', 'false'))"


def _text(value: str, kind: str) -> str:
    # Bytes are seldom text: as text, different ones would become the same.
    return f"hex({value})" if kind == "binary" else f"CAST({value} AS string)"
