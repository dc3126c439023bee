"""A declared decimal in messages without schema: Base64 is read, a JSON number is set aside."""

from __future__ import annotations

import base64
import json

from lakehouse.config import parse_source
from lakehouse.plan.records import QUARANTINE, QuarantineRow
from tests.support.debezium import Postgres
from tests.support.runs import Runs, laws_hold

NAME = "schemaless_decimals"
FILE = f"""
connector = "postgresql"
topic_prefix = "{NAME}"
[tables."public.pay".columns]
amount = {{ type = "numeric(6,2)" }}
"""
# As text, the digits of 10 are Base64 of the number -41.
AMOUNTS = (base64.b64encode((1250).to_bytes(2, "big")).decode(), 10, None, 1234567.5)


def test_a_json_number_is_never_taken_for_base64(spark, settings, tmp_path):
    runs = Runs(spark, settings, tmp_path, parse_source(FILE, NAME))
    connector = Postgres(NAME)
    for number, amount in enumerate(AMOUNTS):
        connector.lsn += 10
        source = {
            "connector": "postgresql",
            "name": NAME,
            "db": "app",
            "schema": "public",
            "table": "pay",
            "sequence": json.dumps([None, str(connector.lsn)]),
            "lsn": connector.lsn,
            "txId": number,
            "ts_ms": connector.clock_ms,
        }
        after = {"id": number, "amount": amount}
        value = {"op": "c", "before": None, "after": after, "source": source}
        connector.send_raw(f"{NAME}.public.pay", json.dumps({"id": number}), json.dumps(value))

    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("pay", "id", "CAST(amount AS string)") == [(0, "12.50"), (2, None)]
    rows = runs.ledger.rows(QUARANTINE, source=NAME)
    found = sorted((r.offset, r.reason, r.detail) for r in rows if isinstance(r, QuarantineRow))
    assert found == [(1, "bad_value", "columns amount"), (3, "bad_value", "columns amount")]
