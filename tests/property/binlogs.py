"""The logs of MySQL, MariaDB and TiDB; see `logs.py`."""

from __future__ import annotations

from tests.property.database import Transaction
from tests.property.logs import Fields, Knobs, Log, Placed


class MySqlLog(Log):
    """Binlog: a position for each rows event, and the number of the row in it."""

    gtid = "3e11fa47-71ca-11e1-9e33-{server:012d}:{number}"
    rows_tell = True
    moves = True

    def __init__(self, *, bare: bool = False) -> None:
        super().__init__(bare=bare)
        self.server, self.file, self.pos = 0, 999_998, 8_200

    def snapshot(self) -> Fields:
        return self._fields(0) | {"server_id": 0, "gtid": None, "thread": None}

    def place(self, transaction: Transaction, knobs: Knobs) -> Placed:
        self.number += 1
        if knobs.moved:
            self.server, self.file, self.pos = self.server + 1, self.file - 100, 4
        if knobs.rotate:
            self.file, self.pos = self.file + 1, 4
        self.pos += 150
        name = f"file=binlog.{self.file:06d},pos={self.pos}"
        fields = []
        for index, _ in enumerate(transaction.changes):
            if index and self.rows_tell and not knobs.group:
                self.pos += 90
            fields.append(self._fields(index if self.rows_tell and knobs.group else 0))
        self.pos += 500
        return Placed(name, name, (name,) * len(fields), tuple(fields))

    def _fields(self, row: int) -> Fields:
        return {
            "server_id": 223344 + self.server,
            "gtid": self.gtid.format(server=self.server, number=self.number),
            "file": f"binlog.{self.file:06d}",
            "pos": self.pos,
            "row": row,
            "thread": 12,
            "query": None,
        }


class MariaDbLog(MySqlLog):
    """All events of a transaction have one position, and `row` is not an order."""

    gtid = "0-{server}-{number}"
    rows_tell = False

    def _fields(self, row: int) -> Fields:
        return super()._fields(row) | {"thread": None}


class TiDbLog(Log):
    """Neighbouring commit TS beyond 2^53; nothing orders changes inside of a transaction."""

    def place(self, transaction: Transaction, _: Knobs) -> Placed:
        self.number += 1
        fields: Fields = {
            "server_id": 0,
            "gtid": None,
            "file": "",
            "pos": 0,
            "row": 0,
            "thread": 0,
            "query": None,
            "commit_ts": 447_507_027_004_751_872 + self.number,
            "cluster_id": "default",
        }
        return Placed(
            "", "", ("",) * len(transaction.changes), (fields,) * len(transaction.changes)
        )
