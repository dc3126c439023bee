"""delta-rs: MERGE of a Delta table from Python (https://delta-io.github.io/delta-rs/).

python -m tests.bench.peers.delta_rs FOLDER
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tests.bench.accounts import COLUMNS
from tests.bench.peers.serving import OPERATION, serve


class DeltaRs:
    """The table in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def load(self, rows: pa.Table) -> None:
        write_deltalake(self._folder, rows)

    def merge(self, changes: pa.Table) -> None:
        values = {name: f"c.{name}" for name in COLUMNS}
        is_gone = f"c.{OPERATION} = 'd'"
        (
            DeltaTable(self._folder)
            .merge(changes, "t.aid = c.aid", source_alias="c", target_alias="t")
            .when_matched_delete(predicate=is_gone)
            .when_matched_update(updates=values)
            .when_not_matched_insert(updates=values, predicate=f"NOT {is_gone}")
            .execute()
        )

    def files(self) -> list[str]:
        return [each.removeprefix("file://") for each in DeltaTable(self._folder).file_uris()]


if __name__ == "__main__":
    serve(DeltaRs)
