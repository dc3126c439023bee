"""Statements after which silver has rows that the source has no more."""

from __future__ import annotations

import pytest

from lakehouse.quality.schemas.silent_statements import silent_statements
from tests.support.schema_events import change, column, event


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("ALTER TABLE orders TRUNCATE PARTITION p0", "TRUNCATE PARTITION"),
        ("alter table orders drop\n partition p0, p1", "DROP PARTITION"),
        ("ALTER TABLE orders EXCHANGE PARTITION p0 WITH TABLE old", "EXCHANGE PARTITION"),
        ("ALTER TABLE orders CONVERT PARTITION p0 TO TABLE old", "CONVERT PARTITION"),
        ("ALTER TABLE orders DISCARD TABLESPACE", "DISCARD TABLESPACE"),
        ("ALTER IGNORE TABLE orders ADD UNIQUE (a)", "ALTER IGNORE TABLE"),
        ("RECOVER TABLE orders", "RECOVER TABLE"),
        ("DROP DATABASE shop", "DROP DATABASE"),
        ("ALTER TABLE orders ADD PARTITION (PARTITION p9 VALUES LESS THAN (9))", ""),
        ("ALTER TABLE orders DROP COLUMN partitions", ""),
        ("DROP TABLE orders", ""),
        ("TRUNCATE TABLE orders", ""),
    ],
)
def test_what_no_event_tells_is_told_from_the_statement(ddl: str, words: str):
    found = event(1, change("ALTER", column("id")), ddl=ddl)
    told = silent_statements("shop", "mysql", [found])
    assert len(told) == bool(words)
    assert all(
        f"offset 1: {words} of shop.orders" in each and "reconcile --source shop" in each
        for each in told
    )
