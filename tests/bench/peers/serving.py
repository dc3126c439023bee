"""A peer as a process that lives for many batches, told what to do line by line.

In: JSON lines, `{"do": "load", "rows": 1000}`, `{"do": "merge", "batch": [1, 100, 1000]}` or
`{"do": "checksum"}`. Out: a JSON line for each, with the seconds that it took. What a batch does to
each key is worked out by DuckDB before the clock starts: parsing is not counted against a peer.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Protocol

import duckdb
import pyarrow as pa

from tests.bench.accounts import COLUMNS, Batch, checksum, row
from tests.bench.cpu import took

OPERATION = "op"


class Peer(Protocol):
    """A table of accounts in somebody's format."""

    def load(self, rows: pa.Table) -> None:
        """Write the first rows."""

    def merge(self, changes: pa.Table) -> None:
        """Change rows: the columns of an account, and `op`, which is `d` where one goes."""

    def files(self) -> list[str]:
        """The Parquet files that hold the rows, and nothing but them."""


def serve(kind: Callable[..., Peer]) -> None:
    """Do what the lines of standard input say, until they end.

    Args:
        kind: Makes the peer of what the command line says.
    """
    # What a peer's libraries print goes to standard error: here each line is an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        peer = kind(*sys.argv[1:])
        for line in sys.stdin:
            print(json.dumps(_done(peer, json.loads(line))), file=answers, flush=True)


def _done(peer: Peer, asked: dict[str, object]) -> dict[str, object]:
    match asked:
        case {"do": "load", "rows": int(rows)}:
            made = _table(
                f"SELECT {', '.join(row())} FROM (SELECT range AS aid, 0 AS v FROM range({rows}))"
            )
            return _measured(peer.load, made)
        case {"do": "merge", "batch": [int(number), int(changes), int(rows)]}:
            return _measured(peer.merge, _changes(Batch(number, changes, rows)))
        case {"do": "checksum"}:
            found = duckdb.sql(checksum(f"read_parquet({peer.files()})")).fetchall()[0]
            return {"checksum": list(found)}
    raise ValueError(f"{asked}: expected load with rows, merge with batch, or checksum")


def _changes(batch: Batch) -> pa.Table:
    """What is left of each key."""
    events = batch.events(f"SELECT range AS i FROM range({batch.changes})")
    newest = f"SELECT aid, arg_max(op, v) AS {OPERATION}, max(v) AS v FROM ({events}) GROUP BY aid"
    return _table(f"SELECT {', '.join(row())}, {OPERATION} FROM ({newest})")


def _table(query: str) -> pa.Table:
    kinds = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string()}
    found = duckdb.sql(query).to_arrow_table()
    fields = [(name, kinds.get(COLUMNS.get(name, "string"))) for name in found.column_names]
    return found.cast(pa.schema(fields))


def _measured(work: Callable[[pa.Table], None], given: pa.Table) -> dict[str, object]:
    return asdict(took(partial(work, given))[0])
