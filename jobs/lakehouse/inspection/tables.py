"""The Iceberg tables of a source, looked at file by file: what is missing or cut off.

In: a catalog. Out: `TableFacts`. Metadata and lists of files are read, data files are not: whether
they are there, and as long as they were written.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, ValidationError
from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot, ancestors_of

from lakehouse.config import SourceConfig
from lakehouse.names import TableIdentity, bronze_table, format_table, silver_namespace
from lakehouse.plan.batches.tables import ENDINGS, MAIN
from lakehouse.plan.cuts.published import identities_of
from lakehouse.plan.doctor.tables import Role, TableFacts
from lakehouse.plan.records import CONTROL_TABLES, CutRow
from lakehouse.spark.control.lease_table import LEASES
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.metadata import (
    CUT_PROPERTY,
    has_nothing_but,
    own_properties,
    progress_of_main,
)
from lakehouse.spark.opening import locations
from lakehouse.spark.rewriting.upkeep import table_names

_WORKERS = 16
# Everything that a torn or missing file of metadata may raise; a server's error is none of it.
_UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    LookupError,
    ValidationError,
    struct.error,
    zlib.error,
)


def read_all(source: SourceConfig, ledger: Ledger) -> tuple[TableFacts, ...]:
    """All of a source; while a control table cannot be read, the control tables alone."""
    control = read_control_tables(ledger.catalog)
    if any(facts.error or facts.missing for facts in control):
        return control
    return (*control, *read_tables(source, ledger))


def read_control_tables(catalog: Catalog) -> tuple[TableFacts, ...]:
    """The tables that all sources share, which tell the cuts."""
    names = [*(table.name for table in CONTROL_TABLES), LEASES]
    return tuple(_read(catalog, name, Role.CONTROL) for name in names if _exists(catalog, name))


def read_tables(source: SourceConfig, ledger: Ledger) -> tuple[TableFacts, ...]:
    """Bronze and silver of a source; the control tables can be read."""
    catalog, cut = ledger.catalog, ledger.newest_cut(source.name)
    bronze = bronze_table(source.name)
    titles = _titles(source, cut)
    named = cut.tables if cut else {}
    found = [
        _read(catalog, name, Role.SILVER, titles.get(name, ""), named.get(name))
        for name in table_names(catalog, silver_namespace(source.name))
    ]
    if _exists(catalog, bronze):
        found.insert(0, _read(catalog, bronze, Role.BRONZE))
    return tuple(found)


def _exists(catalog: Catalog, name: str) -> bool:
    try:
        catalog.load_table(name)
    except NoSuchTableError:
        return False
    except _UNREADABLE:
        return True
    return True


def _titles(source: SourceConfig, cut: CutRow | None) -> dict[str, str]:
    """Iceberg table → its source table, of those that a rebuild can make."""
    return {
        silver + ending: format_table(TableIdentity.of(identity), source.connector)
        for silver, identity in identities_of(cut).items()
        for ending in ENDINGS
    }


def _read(
    catalog: Catalog, name: str, role: Role, title: str = "", published: int | None = None
) -> TableFacts:
    try:
        table = catalog.load_table(name)
    except _UNREADABLE as error:
        location, previous = locations(catalog, name)
        is_whole = bool(previous) and _can_be_read(catalog, previous)
        return TableFacts(name, role, str(error), location, previous if is_whole else "")
    head = table.metadata.snapshot_by_name(MAIN)
    missing = tuple(sorted(_missing(table.io, _files(table.io, head)))) if head else ()
    newest = table.metadata.snapshot_by_id(published) if published else None
    if published and newest is None:
        missing = (*missing, f"snapshot {published} of the newest cut")
    if not missing:
        return _read_whole(table, TableFacts(name, role, title=title), newest)
    broken, whole = _broken(table)
    return TableFacts(name, role, missing=missing, broken=broken, whole=whole, title=title)


def _read_whole(table: Table, facts: TableFacts, newest: Snapshot | None) -> TableFacts:
    """A table that can be read: whether `main` has the newest cut, or a run's next, alone."""
    if newest is None:
        return facts
    at = progress_of_main(table.metadata).get(CUT_PROPERTY)
    if at is None and not has_nothing_but(table.metadata, newest.snapshot_id):
        return replace(facts, strayed=newest.snapshot_id)
    is_behind = at is not None and at < own_properties(newest).get(CUT_PROPERTY, "")
    if table.current_snapshot() is None or is_behind:
        return replace(facts, ahead=newest.snapshot_id)
    return facts


def _can_be_read(catalog: Catalog, location: str) -> bool:
    files = catalog._load_file_io(location=location)  # noqa: SLF001 - there is no public way
    try:
        FromInputFile.table_metadata(files.new_input(location))
    except _UNREADABLE:
        return False
    return True


def _broken(table: Table) -> tuple[tuple[int, ...], int | None]:
    """The newest snapshots whose own files are missing, and the first one before that is whole."""
    broken: list[int] = []
    for each in ancestors_of(table.metadata.snapshot_by_name(MAIN), table.metadata):
        if not any(_missing(table.io, _files(table.io, each, own=True))):
            return tuple(broken), each.snapshot_id
        broken.append(each.snapshot_id)
    return tuple(broken), None


def _files(files: FileIO, snapshot: Snapshot, *, own: bool = False) -> Iterator[tuple[str, int]]:
    """Path and length of each file that a snapshot reads, or of those that it has written itself.

    A list of files that is not there, or torn, is one of them, of a length that none has.
    """
    try:
        manifests = snapshot.manifests(files)
    except _UNREADABLE:
        yield snapshot.manifest_list, -1
        return
    for manifest in manifests:
        if own and manifest.added_snapshot_id != snapshot.snapshot_id:
            continue
        try:
            entries = manifest.fetch_manifest_entry(files, discard_deleted=True)
        except _UNREADABLE:
            yield manifest.manifest_path, -1
            continue
        for entry in entries:
            if not own or entry.status == ManifestEntryStatus.ADDED:
                yield entry.data_file.file_path, entry.data_file.file_size_in_bytes


def _missing(files: FileIO, named: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Those that are not there, or shorter."""

    def is_missing(path: str, size: int) -> bool:
        found = files.new_input(path)
        return size < 0 or not found.exists() or len(found) < size

    pairs = list(dict.fromkeys(named))
    with ThreadPoolExecutor(_WORKERS) as pool:
        found = pool.map(lambda pair: is_missing(*pair), pairs)
        yield from (path for (path, _), gone in zip(pairs, found, strict=True) if gone)
