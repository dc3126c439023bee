"""Arrivals: nothing that a transaction's END counts is missing."""

from __future__ import annotations

import pytest

from infra.demo.arrivals import Arrivals
from lakehouse.config import parse_source

TOPICS = {"orders": "shop.public.orders", "items": "shop.public.items"}


def event(table: str, transaction: str | None, op: str = "c", snapshot: str = "false"):
    order = None if transaction is None else int(transaction.partition(":")[2])
    block = None if transaction is None else {"id": transaction, "total_order": order}
    source = {"schema": "public", "table": table, "snapshot": snapshot}
    return TOPICS[table], {"op": op, "source": source, "transaction": block}


def end(transaction: str, **counts: int):
    collections = [
        {"data_collection": f"public.{table}", "event_count": count}
        for table, count in counts.items()
    ]
    return "shop.transaction", {"status": "END", "id": transaction, "data_collections": collections}


@pytest.fixture
def arrivals() -> Arrivals:
    return Arrivals(parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop"))


def test_an_event_may_come_after_its_end(arrivals):
    arrivals.add(*event("orders", "7:100"))
    arrivals.add(*end("7:120", orders=1, items=2))
    assert arrivals.ended == {"7"}
    assert not arrivals.is_complete
    arrivals.add(*event("items", "7:110"))
    assert not arrivals.is_complete
    arrivals.add(*event("items", "7:115"))
    assert arrivals.is_complete


def test_what_comes_twice_is_not_taken_for_what_is_missing(arrivals):
    arrivals.add(*event("orders", "7:100"))
    arrivals.add(*event("orders", "7:100"))
    arrivals.add(*end("7:120", orders=1, items=1))
    assert not arrivals.is_complete


def test_an_end_that_a_killed_connector_repeats_asks_for_nothing_more(arrivals):
    arrivals.add(*event("orders", "7:100"))
    arrivals.add(*end("7:120", orders=1))
    arrivals.add(*end("7:120", orders=1))
    assert arrivals.is_complete


def test_a_table_is_read_in_part_until_its_last_row(arrivals):
    arrivals.add(*event("orders", None, "r", "first"))
    assert not arrivals.is_complete
    arrivals.add(*event("orders", None, "r", "last_in_data_collection"))
    assert arrivals.is_complete
    arrivals.add(*event("orders", None, "r", "incremental"))
    assert arrivals.is_complete
