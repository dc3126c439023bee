"""Opens the catalog and its tables through PyIceberg, and says in words what cannot be read."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from threading import Lock
from weakref import WeakKeyDictionary

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import ValidationError
from pyiceberg.table import Table
from sqlalchemy import bindparam, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.event import listen
from sqlalchemy.exc import DBAPIError

from lakehouse.config import Settings
from lakehouse.errors import StepFailed, first_line
from lakehouse.plan.catalog import BUSY_TIMEOUT_S, CATALOG, pyiceberg_properties
from lakehouse.plan.store_faults import store_fault

# Another process may be first with each of them.
_OWN_TABLES = ("iceberg_tables", "iceberg_namespace_properties")
# So many tables are kept as they were loaded last: a table is looked at some twenty times in a run,
# and to read its metadata takes four times as long as to ask which file has them.
_MOST_KEPT = 64
_KEPT: WeakKeyDictionary[Catalog, OrderedDict[str, Table]] = WeakKeyDictionary()
_LOCK = Lock()
# Made once: it is asked a hundred times in a run, and to make it takes longer than to ask.
_LOCATIONS = select(
    IcebergTables.metadata_location, IcebergTables.previous_metadata_location
).where(
    IcebergTables.catalog_name == bindparam("catalog"),
    IcebergTables.table_namespace == bindparam("namespace"),
    IcebergTables.table_name == bindparam("name"),
)


def open_catalog(settings: Settings) -> Catalog:
    """PyIceberg's catalog over the same tables as Spark's.

    PyIceberg makes a new catalog's own tables without asking whether another process just did.

    Raises:
        StepFailed: Its file is locked, its disk is full, or its database does not answer.
    """
    properties, until = pyiceberg_properties(settings), time.monotonic() + BUSY_TIMEOUT_S
    for _ in _OWN_TABLES:
        # A lock that outlasted one try outlasts the next.
        if time.monotonic() < until:
            with suppress(DBAPIError):
                return _loaded(properties)
    try:
        return _loaded(properties)
    except DBAPIError as failure:
        fault = store_fault(failure) or (
            f"{first_line(failure.orig or failure)}: expected a database that answers this login "
            "(LAKEHOUSE_CATALOG_URI); mend that, then run again: nothing was done"
        )
        raise StepFailed(f"Catalog of {settings.home}: {fault}") from failure


def _loaded(properties: Mapping[str, str]) -> Catalog:
    catalog = load_catalog(CATALOG, **properties)
    if isinstance(catalog, SqlCatalog) and catalog.engine.dialect.name == "sqlite":
        listen(catalog.engine, "checkin", _end_transaction)
    return catalog


def _end_transaction(connection: DBAPIConnection | None, _: object) -> None:
    """Undo what SQLite did not commit since others read the file.

    SQLAlchemy takes a commit that failed for the end of its transaction; SQLite goes on with it,
    lets nobody else in, and the next commit of the connection makes it as well
    (https://www.sqlite.org/lang_transaction.html).
    """
    if connection is not None:
        connection.rollback()


def load_table(catalog: Catalog, table: str) -> Table:
    """A table as it is now.

    A file of metadata never changes (https://iceberg.apache.org/spec/#overview), so that it is read
    once.

    Raises:
        NoSuchTableError: There is none of this name.
        OSError: Its metadata file is not there, or not as it was written; it is named.
    """
    location = locations(catalog, table)[0]
    with _LOCK:
        kept = _KEPT.setdefault(catalog, OrderedDict())
        if known := kept.get(location):
            kept.move_to_end(location)
            return copy(known)
    loaded = _load(catalog, table)
    with _LOCK:
        kept[loaded.metadata_location] = copy(loaded)
        while len(kept) > _MOST_KEPT:
            kept.popitem(last=False)
    return loaded


def _load(catalog: Catalog, table: str) -> Table:
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
    place = {"catalog": catalog.name, "namespace": namespace, "name": name}
    with catalog.engine.connect() as connection:
        found = connection.execute(_LOCATIONS, place).first()
    return ("", "") if found is None else (found[0] or "", found[1] or "")
