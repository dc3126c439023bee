"""Messages without schema are read as the schema change topic defines their columns."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping

from lakehouse.config import parse_source
from tests.support.debezium import Postgres
from tests.support.runs import Runs, laws_hold

NAME = "schemaless_types"
AMOUNT = base64.b64encode((12345678).to_bytes(4, "big")).decode()


class Shop(Postgres):
    """A connector of MySQL whose converters leave schemas out."""

    position = 100

    def source(self, table: str) -> dict[str, object]:
        self.position += 100
        return {
            "connector": "mysql",
            "name": NAME,
            "db": "public",
            "table": table,
            "file": "binlog.000003",
            "pos": self.position,
            "row": 0,
            "ts_ms": self.clock_ms,
        }

    def define(self, ddl: str, **types: str) -> None:
        columns = [_column(place, *each) for place, each in enumerate(types.items(), 1)]
        table = {"primaryKeyColumnNames": ["id"], "columns": columns}
        kind = ddl.partition(" ")[0]
        value = {
            "source": self.source("pay"),
            "databaseName": "public",
            "ddl": ddl,
            "tableChanges": [{"type": kind, "id": '"public"."pay"', "table": table}],
        }
        self.send_raw(NAME, '{"databaseName":"public"}', json.dumps(value))

    def create(self, after: Mapping[str, object]) -> None:
        value = {"op": "c", "before": None, "after": after, "source": self.source("pay")}
        self.send_raw(f"{NAME}.public.pay", json.dumps({"id": after["id"]}), json.dumps(value))


def _column(place: int, name: str, text: str) -> dict[str, object]:
    kind, *sizes = re.findall(r"\w+", text)
    numbers = dict(zip(("length", "scale"), map(int, sizes), strict=False))
    return {"name": name, "typeName": kind, "typeExpression": kind, "position": place, **numbers}


def test_the_schema_change_topic_says_the_types(spark, settings, tmp_path):
    runs = Runs(
        spark,
        settings,
        tmp_path,
        parse_source(f'connector = "mysql"\ntopic_prefix = "{NAME}"\n', NAME),
    )
    shop = Shop(NAME)
    types = {"id": "BIGINT", "amount": "DECIMAL(12,4)", "day": "DATE", "at": "DATETIME(3)"}
    shop.define("CREATE TABLE pay (…)", **types)
    shop.create({"id": 1, "amount": AMOUNT, "day": 20000, "at": 1_700_000_000_123})
    shop.create({"id": 2, "amount": None, "day": None, "at": None})
    # The same digits are another time from here on.
    shop.define("ALTER TABLE pay MODIFY at DATETIME(6)", **types | {"at": "DATETIME(6)"})
    shop.create({"id": 3, "amount": AMOUNT, "day": 1, "at": 1_700_000_000_123_456})
    first = runs.run(shop)
    assert [outcome.status for outcome in first.values()] == ["succeeded"] * 5
    assert laws_hold(first["apply"])
    assert first["check"].detail["held"] == {}
    expected = [
        (1, "1234.5678", "2024-10-04", "2023-11-14 22:13:20.123"),
        (2, None, None, None),
        (3, "1234.5678", "1970-01-02", "2023-11-14 22:13:20.123456"),
    ]
    texts = [f"CAST({name} AS string)" for name in ("amount", "day", "at")]
    assert runs.rows("pay", "id", *texts) == expected

    shop.create({"id": 4, "amount": AMOUNT, "day": 1, "at": 0})
    assert laws_hold(runs.run(shop)["apply"])
    last = (4, "1234.5678", "1970-01-02", "1970-01-01 00:00:00")
    assert runs.rows("pay", "id", *texts)[3] == last
