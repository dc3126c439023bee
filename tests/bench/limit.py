"""The least that such a batch takes: parse, look up, write; in DuckDB, without any guard.

    python -m tests.bench.limit REQUEST       # JSON: messages, silver, key, out, rounds

Reads the same bytes as the product: bronze's files of the batch, and of silver's files the key and
the stored position; without files of silver the batch is all there is. Writes the new rows as zstd
Parquet, and where the old ones stand. Prints the CPU and wall seconds of the last round, and what
it found.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import duckdb

from tests.bench.cpu import own_seconds

_COLUMNS = {"aid": "BIGINT", "bid": "INTEGER", "abalance": "INTEGER", "filler": "VARCHAR"}


def main(request: str) -> None:
    asked = json.loads(request)
    out = Path(asked["out"])
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, object] = {}
    for number in range(asked["rounds"]):
        con = duckdb.connect()
        con.execute("SET threads = 2")
        began, cpu = time.monotonic(), own_seconds()
        files = (asked["messages"], asked["silver"])
        found = _round(con, *files, asked["key"], out / str(number))
        found |= {"wall": time.monotonic() - began, "cpu": own_seconds() - cpu}
        con.close()
    print(json.dumps(found))


def _round(
    con: duckdb.DuckDBPyConnection,
    messages: list[str],
    silver: list[str],
    key: list[str],
    out: Path,
) -> dict[str, object]:
    named = ", ".join(f"coalesce(m['after']['{n}'], m['before']['{n}']) AS {n}" for n in key)
    con.execute(
        f"CREATE TEMP TABLE winners AS SELECT {named}, arg_max(m, place) AS m "
        f"FROM (SELECT from_json(decode(value), '{_shape(key)}') AS m, \"offset\" AS place "
        "FROM read_parquet($files)) GROUP BY ALL",
        {"files": messages},
    )
    old = _stored(con, silver, key, out) if silver else 0
    con.execute(
        "COPY (SELECT unnest(m['after']), m['op'] AS op, unnest(m['source']) FROM winners "
        "WHERE m['op'] <> 'd') "
        f"TO '{out}_rows.parquet' (COMPRESSION zstd)"
    )
    new = con.execute(f"SELECT count(*) FROM '{out}_rows.parquet'").fetchall()[0][0]
    return {"old": old, "new": new}


def _shape(key: list[str]) -> str:
    """What is read of a message, as `from_json` takes it."""
    columns = {**dict.fromkeys(key, "VARCHAR"), **_COLUMNS}
    return json.dumps(
        {
            "before": {name: columns[name] for name in key},
            "after": columns,
            "op": "VARCHAR",
            "source": {"sequence": "VARCHAR", "lsn": "BIGINT"},
        }
    )


def _stored(con: duckdb.DuckDBPyConnection, silver: list[str], key: list[str], out: Path) -> int:
    """How many rows are replaced, with where they stand written down."""
    con.execute(
        "COPY (SELECT s.filename, s.file_row_number, s._cdc.position AS position "
        "FROM read_parquet($files, filename = true, file_row_number = true) AS s "
        f"SEMI JOIN winners AS w USING ({', '.join(key)})) "
        f"TO '{out}_places.parquet' (COMPRESSION zstd)",
        {"files": silver},
    )
    return int(con.execute(f"SELECT count(*) FROM '{out}_places.parquet'").fetchall()[0][0])


if __name__ == "__main__":
    main(sys.stdin.read())
