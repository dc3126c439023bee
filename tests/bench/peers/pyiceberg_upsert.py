"""PyIceberg: `upsert`, and a delete of the keys that went: two commits a batch.

python -m tests.bench.peers.pyiceberg_upsert FOLDER
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import In

from tests.bench.peers.serving import OPERATION, serve

_NAME = "peer.accounts"


class PyIceberg:
    """The table in a catalog of its own."""

    def __init__(self, folder: str) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self._catalog = SqlCatalog(
            "peer", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
        )

    def load(self, rows: pa.Table) -> None:
        self._catalog.create_namespace("peer")
        self._catalog.create_table(_NAME, rows.schema).append(rows)

    def merge(self, changes: pa.Table) -> None:
        is_gone = pc.equal(changes[OPERATION], "d")
        table, gone = self._catalog.load_table(_NAME), changes.filter(is_gone)["aid"]
        table.upsert(changes.filter(pc.invert(is_gone)).drop_columns([OPERATION]), ["aid"])
        if len(gone):
            table.delete(In("aid", gone.to_pylist()))

    def files(self) -> list[str]:
        tasks = self._catalog.load_table(_NAME).scan().plan_files()
        return [urlsplit(task.file.file_path).path for task in tasks]


if __name__ == "__main__":
    serve(PyIceberg)
