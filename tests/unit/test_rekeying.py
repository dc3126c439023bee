"""When a table is drained, and whether silver can follow its new primary key."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from lakehouse.names import TableIdentity
from lakehouse.plan.cuts.lag import TableLag
from lakehouse.plan.records import HOLD, SchemaVersionRow
from lakehouse.plan.remaking.rekeying import Drained, KeyedTable, new_key, not_drained
from lakehouse.quality.schemas.rekeyed import followed_version, has_key, rekeyed

QUIET = KeyedTable(("id",), writes=7, writers=0, unread=0)
NONE = TableLag("public.orders", "silver_shop.public__orders", 0)
ORDERS = TableIdentity(None, "public", "orders")
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def test_a_table_is_drained_once_its_log_is_read_and_nothing_of_it_waits():
    assert not_drained(QUIET, QUIET, NONE, "") == ""
    assert Drained.from_json(Drained("public.orders", 7, "1").to_json()).writes == 7


@pytest.mark.parametrize(
    ("now", "lag", "unseen", "why"),
    [
        (KeyedTable(("id",), 9, 0, 0), NONE, "", "it is written to (2 rows, 0 open transactions)"),
        (KeyedTable(("id",), 7, 1, 0), NONE, "", "it is written to (0 rows, 1 open transactions)"),
        (KeyedTable(("id",), 7, 0, 90), NONE, "", "the connector has 90 bytes of the log to read"),
        (QUIET, TableLag("t", "s", 3), "", "3 messages wait for a run of ingest"),
        (QUIET, TableLag("t", "s", 0, held="a change"), "", "the table is held: a change"),
        (QUIET, None, "", "no published table has its rows"),
        (QUIET, NONE, "Kafka: no answer", "Kafka: no answer"),
    ],
)
def test_what_still_has_to_come_is_named(now, lag, unseen, why):
    assert not_drained(QUIET, now, lag, unseen).startswith(why)


def test_the_new_key_has_the_names_and_the_order_of_silver_s_columns():
    columns = {"id": "id", "number": "Number", "line": "line"}
    assert new_key(["LINE", "number"], columns) == (("Number", "line"), "")


def test_silver_cannot_follow_a_key_that_it_has_no_values_of():
    assert new_key(["code"], {"id": "id"})[1].startswith("silver has no column 'code'")
    assert new_key([], {"id": "id"})[1].startswith("the source's table has no primary key")


def version(verdict: str = "evolve", fingerprint: str = "1") -> SchemaVersionRow:
    columns = [
        {"name": name, "type": "int", "optional": False, "default": None, "key": name == "id"}
        | {"semantic": "", "doc": ""}
        for name in ("id", "number")
    ]
    return SchemaVersionRow(
        source="shop",
        run_id="r",
        table="public__orders",
        identity=json.dumps(ORDERS.members),
        fingerprint=fingerprint,
        topic="shop.public.orders",
        partition=0,
        offset=0,
        position="",
        ddl="",
        change_kinds=("create_table",),
        columns=json.dumps(columns),
        verdict=verdict,
        decision="policy",
        reason="",
        recorded_at=NOW,
        previous="",
    )


def test_the_version_that_silver_follows_gets_the_key_and_says_who_changed_it():
    rows = [version(), version(HOLD, "2")]
    followed = followed_version(rows, ORDERS)
    assert followed == rows[0]
    row = rekeyed(rows[0], ("number",), "ada", NOW)
    assert (has_key(rows[0], ["ID"]), has_key(row, ["number"])) == (True, True)
    assert (row.fingerprint, row.decision, row.change_kinds) == ("1", "ada", ("primary_key",))
    assert followed_version([*rows, row], ORDERS) == row
    assert followed_version(rows, TableIdentity(None, "public", "items")) is None
