"""Rows older than a column have in it what PostgreSQL has there, or their table needs a snapshot.

Nothing but the schema of the messages tells the defaults, and the connector reads them in the
database's own text of them.
"""

from __future__ import annotations

import json

import pytest

from lakehouse.config import Settings
from lakehouse.names import silver_namespace
from lakehouse.plan.cuts.stale import stale_of
from lakehouse.spark.tables import full_name
from tests.soak.product import Product
from tests.stack.conftest import Stack
from tests.support.narrowed import narrowed

NAME = "inventory"
# Column → its declaration.
TOLD = {
    "t_const": "text default 'x'",
    "t_word": "text default 'current_user'",
    "t_empty": "text default ''",
    "t_null": "text",
    "v_const": "varchar(20) default 'v'",
    "i_zero": "int default 0",
    "i_less": "int default -7",
    "i_null": "int",
    "b_large": "bigint default 9223372036854775807",
    "n_zero": "numeric(8,2) default 0",
    "n_const": "numeric(8,2) default 1.5",
    "f_const": "real default 1.5",
    "l_false": "boolean default false",
    "u_const": "uuid default '76019d1a-ad2e-4b22-96e9-1a6d6543c818'",
    "d_const": "date default '2001-02-03'",
    "z_const": "timestamptz default '2001-02-03 04:05:06+02'",
    "s_const": "timestamp default '2001-02-03 04:05:06.123456'",
    "m_const": "time default '04:05:06'",
    "j_empty": "jsonb default '{}'",
    "j_const": "jsonb default '{\"a\": 1}'",
    "e_const": "added_size default 'm'",
    "r_const": "interval default '1 day'",
    "k_const": "bit(3) default b'101'",
    "o_const": "xml default '<a/>'",
    "a_null": "int[]",
}
DOUBTED = {
    "t_quote": "text default 'it''s'",
    "t_user": "text default current_user",
    "t_date": "text default (current_date)::text",
    "t_random": "text default md5(random()::text)",
    "t_both": "text default 'a' || 'b'",
    "t_upper": "text default upper('x')",
    "c_padded": "char(5) default 'ab'",
    "i_serial": "serial",
    "i_identity": "int generated always as identity",
    "n_random": "numeric(8,2) default round(random()::numeric, 2)",
    "n_free": "numeric default 1.25",
    "f_random": "double precision default random()",
    "u_made": "uuid default gen_random_uuid()",
    "d_today": "date default current_date",
    "z_now": "timestamptz default now()",
    "z_later": "timestamptz default now() + interval '1 day'",
    "s_utc": "timestamp default (now() at time zone 'utc')",
    "s_local": "timestamp default localtimestamp",
    "m_local": "time default localtime",
    "y_zoned": "timetz default '04:05:06+02'",
    "j_made": "jsonb default jsonb_build_object('a', random())",
    "a_empty": "text[] default '{}'",
    "a_const": "int[] default '{1,2}'",
    "x_bytes": "bytea default '\\x01'",
}
# README.md, limits: no message differs from one without a default.
UNSEEN = {
    "i_sum": "int default 10 * 60",
    "x_net": "inet default '10.0.0.1'",
    "x_range": "int4range default '[1,3)'",
    "x_money": "money default 1.5",
    "q_domain": "added_positive default 3",
}


def altered(stack: Stack, table: str) -> None:
    """Add every column, and change one of the table's rows."""
    every = (f"ADD COLUMN {name} {kind}" for name, kind in (TOLD | DOUBTED | UNSEEN).items())
    stack.run(NAME, f"ALTER TABLE {table} {', '.join(every)}")
    stack.run(NAME, f"UPDATE {table} SET n = 2 WHERE id = 1")


def test_older_rows_have_the_database_s_default_or_a_mark(
    spark, settings: Settings, stack: Stack, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    barrier = stack.barrier(NAME)
    source = narrowed(stack.source(NAME), f"{NAME}_added", r"public\.added_.*")
    product = Product(spark, settings, source)
    stack.run(
        NAME,
        "CREATE TYPE added_size AS ENUM ('s', 'm')",
        "CREATE DOMAIN added_positive AS int CHECK (value > 0)",
        *(f"CREATE TABLE {table} (id int PRIMARY KEY, n int)" for table in ("added_a", "added_b")),
        "INSERT INTO added_a VALUES (1, 1), (2, 2)",
        "INSERT INTO added_b VALUES (1, 1), (2, 2)",
    )
    altered(stack, "added_a")
    barrier.pass_one()
    product.run()
    assert_equal_or_marked(product, "added_a", "both were in the table's first batch")

    altered(stack, "added_b")
    barrier.pass_one()
    product.run()
    assert_equal_or_marked(product, "added_a", "nothing changed")
    assert_equal_or_marked(product, "added_b", "the rows were in silver")


def assert_equal_or_marked(product: Product, table: str, why: str) -> None:
    silver = f"{silver_namespace(product.source.name)}.public__{table}"
    marks = stale_of(product.ledger.newest_cut(product.source.name)).get(silver, {})
    # An event of the first row shows what PostgreSQL has in both.
    new, old = product.spark.table(full_name(silver)).drop("_cdc").orderBy("id").collect()
    differing = {name for name in TOLD | DOUBTED | UNSEEN if new[name] != old[name]}
    assert set(marks) == DOUBTED.keys(), why
    assert differing - DOUBTED.keys() == UNSEEN.keys(), why
    assert [name for name in ("u_made", "d_today", "z_now", "m_local") if old[name]] == [], why
