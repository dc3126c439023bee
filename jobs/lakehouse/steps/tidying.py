"""Files that runs left behind, merged once they are many: between two maintenances.

Each step of each run leaves a row in a file of its own in the control tables, and every process
reads them; each batch leaves a small file and dead rows in silver, which every query pays for. No
failure is one of the run, whose cut is published: the next one tries again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import structlog

from lakehouse.errors import Superseded, first_line
from lakehouse.plan.records import CONTROL_TABLES
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.metadata import load_metadata
from lakehouse.spark.rewriting.upkeep import compact_control, compact_silver, due
from lakehouse.steps.context import StepContext

# Some twenty runs; a file takes a millisecond of each process, merging so many a second.
MOST_FILES = 100
# The next run waits for it; what is left then has its turn with the next one or in maintenance.
_MOST_S = 10
_LOG = structlog.get_logger()


def tidy(context: StepContext, most: int = MOST_FILES) -> tuple[str, ...]:
    """Merge the source's files of each control table that has more than so many.

    Only tables of which this process has read the source's rows are looked at.

    Returns:
        The tables whose files were merged.
    """
    name, ledger, done = context.source.name, context.ledger, []
    for control in CONTROL_TABLES:
        if (files := ledger.files(control, name)) <= most:
            continue
        try:
            compact_control(context.spark, ledger.catalog, control, name)
        except Exception as failure:  # noqa: BLE001 - what the run published is published
            _LOG.warning("files not merged", table=control.name, reason=first_line(failure))
        else:
            _LOG.info("files merged", table=control.name, files=files)
            done.append(control.name)
    return tuple(done)


def autocompact(context: StepContext, tables: Iterable[str]) -> tuple[str, ...]:
    """Merge the files of silver tables that are due for it, if nobody else has the lease.

    Args:
        context: A run that has published and given the lease back.
        tables: The Iceberg tables that it changed.

    Returns:
        The tables whose files were merged.
    """
    done: list[str] = []
    try:
        for table in _compacted(context, tables):
            done.append(table)
            _LOG.info("files merged", table=table)
    except Superseded as other:
        _LOG.info("files not merged", reason=first_line(other))
    except Exception as failure:  # noqa: BLE001 - what the run published is published
        _LOG.warning("files not merged", reason=first_line(failure))
    return tuple(done)


def _compacted(context: StepContext, tables: Iterable[str]) -> Iterator[str]:
    """The tables that are due, each once its files are merged."""
    catalog, until = context.ledger.catalog, time.monotonic() + _MOST_S
    found = ((table, load_metadata(catalog, table)) for table in tables)
    if not (wanted := [table for table, metadata in found if metadata and due(metadata)]):
        return
    with Leases(catalog, context.source.name).upkeep(context.run_id, 0) as hold:
        for table in wanted:
            hold.check()
            if waits := compact_silver(context.spark, catalog, table, due, hold):
                _LOG.info("files not merged", table=table, reason=waits)
            else:
                yield table
            if time.monotonic() > until:
                return
