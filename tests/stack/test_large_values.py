"""Unchanged large values of every type that PostgreSQL has them in stay as they are in silver."""

from __future__ import annotations

import json

import pytest

from lakehouse.config import Settings
from lakehouse.envelope import PLACEHOLDERS
from lakehouse.names import silver_namespace
from lakehouse.spark.tables import full_name
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.support.narrowed import narrowed

NAME, TABLE = "inventory", "large_values"
# Column → type and the value of the `n`-th element, or the whole value. What is stored beside its
# row is not sent again while it stays as it is.
ARRAYS = {
    "texts": ("text[]", "'text ' || n"),
    "names": ("varchar(20)[]", "'name ' || n"),
    "documents": ("jsonb[]", "to_jsonb(n)"),
    "bytes_of": ("bytea[]", "int4send(n)"),
    "ints": ("int[]", "n"),
    "bigints": ("bigint[]", "n::bigint * 4294967296"),
    "days": ("date[]", "date '2001-01-01' + n"),
    "uuids": ("uuid[]", "md5(n::text)::uuid"),
}
WHOLE = {
    "note": ("text", "string_agg(n::text, ' ')"),
    "photo": ("bytea", "string_agg(int4send(n), ''::bytea)"),
    "document": ("jsonb", "jsonb_agg(n)"),
    "pairs": ("hstore", "hstore(array_agg(n::text), array_agg(n::text))"),
}
COLUMNS = {name: (kind, f"array_agg({value})") for name, (kind, value) in ARRAYS.items()} | WHOLE


def large_row(stack: Stack) -> None:
    """A row with one large value of each type."""
    kinds = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values())
    stack.run(
        NAME,
        "CREATE EXTENSION IF NOT EXISTS hstore",
        f"CREATE TABLE {TABLE} (id int PRIMARY KEY, n int, {kinds})",
        *(f"ALTER TABLE {TABLE} ALTER {name} SET STORAGE EXTERNAL" for name in COLUMNS),
        f"INSERT INTO {TABLE} SELECT 1, 0, {values} FROM generate_series(1, 2000) AS n",
    )


def test_unchanged_large_values_of_every_type_stay(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    barrier = stack.barrier(NAME)
    source = narrowed(stack.source(NAME), f"{NAME}_large", rf"public\.{TABLE}")
    product = Product(spark, settings, source)
    silver = full_name(f"{silver_namespace(source.name)}.public__{TABLE}")
    large_row(stack)
    barrier.pass_one()
    product.run()
    (before,) = spark.table(silver).drop("_cdc").collect()
    assert all(before[name] for name in COLUMNS)

    stack.run(NAME, f"UPDATE {TABLE} SET n = 1")
    barrier.pass_one()
    (changed,) = (
        message
        for message in stack.kafka.await_key(
            f"{NAME}.public.{TABLE}", {"id": 1}, lambda some: some[-1].op == "u"
        )
        if message.op == "u"
    )
    product.run()
    (after,) = spark.table(silver).drop("_cdc").collect()

    assert {name for name in COLUMNS if _token(changed.after[name]) not in PLACEHOLDERS} == set()
    assert after.asDict() == {**before.asDict(), "n": 1}


def _token(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
