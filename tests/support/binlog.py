"""Change events of MySQL and MariaDB, whose log may go on in that of another server."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.support.debezium import Postgres, Row, Table, column

Change = tuple[Table, str, Row | None, Row | None]
ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
ITEMS = Table("items", ORDERS.columns)


@dataclass
class MySql(Postgres):
    """Writes the topics of a connector that reads the binlog of one server after another.

    Attributes:
        server: What the server's GTIDs begin with; empty for a server without GTIDs.
        number: That of its newest transaction.
    """

    connector: str = "mysql"
    server: str = "3e11fa47-71ca-11e1-9e33-c80aa9429562:"
    number: int = 0
    file: int = 9
    position: int = 100
    framed: bool = True
    gtid: str | None = None

    def fail_over(self, server: str, file: int, number: int = 0) -> None:
        """Go on with the first position of a file of another server."""
        self.server, self.file, self.position, self.number = server, file, 4, number

    def commit(
        self, *changes: Change, gtid: str | None = None, first: int = 0, last: int | None = None
    ) -> str | None:
        """Send a transaction and give its GTID.

        Args:
            changes: Table, op, before, after.
            gtid: That of a transaction which this server has from another one; None for a new one.
            first: How many events the connector skips.
            last: After how many it stops, without END; None for none.
        """
        if gtid is None:
            self.number += 1
            gtid = f"{self.server}{self.number}" if self.server else None
        self.gtid = gtid
        self.position += 100
        ident = gtid or f"file=binlog.{self.file:06d},pos={self.position}"
        self._frame("BEGIN", ident, None)
        counts: dict[str, int] = {}
        for index, (table, op, before, after) in enumerate(changes):
            name = f"public.{table.name}"
            counts[name] = counts.get(name, 0) + 1
            order = {"total_order": index + 1, "data_collection_order": counts[name]}
            self._step()
            if first <= index < (len(changes) if last is None else last):
                block = {"id": ident, **order} if self.framed else None
                source = self._source(table, None, [])
                self._send(table, op, before, after, source, block)
        if last is None:
            self._frame("END", ident, counts)
        return gtid

    def read(self, table: Table, *rows: Row) -> None:
        """A source snapshot where the log stands."""
        self.gtid = None
        for row in rows:
            self._send(table, "r", None, row, self._source(table, "true", []), None)

    def read_increment(self, table: Table, *rows: Row) -> None:
        """A chunk of an incremental snapshot behind the newest transaction."""
        self.gtid = f"{self.server}{self.number}"
        for row in rows:
            self._send(table, "r", None, row, self._source(table, "incremental", []), None)

    def define(self, table: Table, kind: str, clause: str = "", comment: str = "") -> None:
        """A statement that creates, alters or drops a table, a transaction of its own."""
        self.number += 1
        self.gtid = f"{self.server}{self.number}"
        self.position += 100
        change = {"type": kind, "id": f'"public"."{table.name}"', "table": None}
        if kind != "DROP":
            columns = [
                _column(place, each) | {"comment": comment}
                for place, each in enumerate(table.columns, 1)
            ]
            change["table"] = {"primaryKeyColumnNames": [*table.key], "columns": columns}
        payload = {
            "source": self._source(table, None, []),
            "databaseName": "public",
            "ddl": f"{kind} TABLE {table.name} {clause}".rstrip(),
            "tableChanges": [change],
        }
        self._append(self.prefix, 0, '{"databaseName":"public"}', json.dumps(payload))

    def _frame(self, status: str, ident: str, counts: dict[str, int] | None) -> None:
        if self.framed:
            self._mark(status, ident, counts)

    def _step(self) -> None:
        self.position += 10

    def _source(self, table: Table, marker: str | None, _: list[str | None]) -> Row:
        return {
            "version": "3.6.1.Final",
            "connector": self.connector,
            "name": self.prefix,
            "ts_ms": self.clock_ms,
            "snapshot": marker,
            "db": "public",
            "table": table.name,
            "server_id": 0 if marker else 223344,
            "gtid": self.gtid,
            "file": f"binlog.{self.file:06d}",
            "pos": self.position,
            "row": 0,
        }


@dataclass
class MariaDb(MySql):
    """All events of a transaction have one position."""

    connector: str = "mariadb"
    server: str = "0-11-"

    def _step(self) -> None:
        pass


def _column(place: int, column: dict[str, object]) -> dict[str, object]:
    kind = "INT" if column["type"] == "int32" else "VARCHAR"
    return {
        "name": column["field"],
        "jdbcType": 4 if kind == "INT" else 12,
        "typeName": kind,
        "typeExpression": kind,
        "position": place,
        "optional": column["optional"],
    }


def create(number: int, name: str, table: Table = ORDERS) -> Change:
    return table, "c", None, {"id": number, "name": name}


def update(number: int, name: str, table: Table = ORDERS) -> Change:
    return table, "u", None, {"id": number, "name": name}


def delete(number: int, table: Table = ORDERS) -> Change:
    return table, "d", {"id": number, "name": None}, None
