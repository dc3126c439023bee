"""A table's key: the columns that identify its rows, and why a schema version cannot have it."""

from __future__ import annotations

from collections.abc import Sequence

from lakehouse.plan.batches.tables import Version


def table_key(
    candidates: Sequence[tuple[Version, str]],
    stored: tuple[str, ...] | None,
    configured: tuple[str, ...],
) -> tuple[str, ...]:
    """The columns that identify a row; none for a bag of rows.

    Args:
        candidates: The versions of the batch, from `table_versions`.
        stored: The key that silver has; None for no table yet.
        configured: The columns that the TOML file names; empty for those of the event key.
    """
    if configured:
        return configured
    if stored is not None:
        return stored
    return next((version.key for version, _ in candidates if version.key), ())


def lacks_key(key: tuple[str, ...], version: Version, configured: Sequence[str]) -> str:
    """Why rows of a version cannot be told apart by the key; empty where they can.

    Args:
        key: The table's, from `table_key`.
        version: One of its batch.
        configured: The columns that the TOML file names; empty for those of the event key.
    """
    names = {column.name.lower() for column in version.stored_columns}
    lacking = [name for name in configured if name.lower() not in names]
    if lacking:
        return (
            f"the TOML file names {', '.join(map(repr, lacking))} as the key, and its rows have no "
            f"such column: expected some of {', '.join(sorted(names))}"
        )
    if configured or version.key is None or set(version.key) == set(key):
        return ""
    return f"primary_key: the event key changed from {key} to {version.key}"
