"""Opens tables through PyIceberg, whose own error does not name metadata that cannot be read."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.table import Table
from sqlalchemy import select
from sqlalchemy.orm import Session

from lakehouse.errors import first_line


def load_table(catalog: Catalog, table: str) -> Table:
    """A table as it is now.

    Raises:
        NoSuchTableError: There is none of this name.
        OSError: Its metadata file is not there, or not as it was written; it is named.
    """
    try:
        return catalog.load_table(table)
    except (ValidationError, UnicodeDecodeError) as torn:
        file = locations(catalog, table)[0] or f"metadata of {table}"
        # As Java says it.
        raise OSError(f"Failed to read file: {file}, {first_line(torn)}") from torn


def locations(catalog: Catalog, table: str) -> tuple[str, str]:
    """The table's metadata file and the one before, as a catalog in a database has them.

    Of another catalog, and of a table's first metadata, they are empty.
    """
    if not isinstance(catalog, SqlCatalog):
        return "", ""
    namespace, _, name = table.rpartition(".")
    row = select(IcebergTables.metadata_location, IcebergTables.previous_metadata_location).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == namespace,
        IcebergTables.table_name == name,
    )
    with Session(catalog.engine) as session:
        found = session.execute(row).first()
    return ("", "") if found is None else (found[0] or "", found[1] or "")
