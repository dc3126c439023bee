"""Names of silver tables and topics: the same in every run, never the same for two tables."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError
from lakehouse.names import (
    RESERVED_ENDINGS,
    TableIdentity,
    bronze_table,
    format_table,
    parse_table,
    quote_ident,
    quote_table,
    silver_name,
    silver_names,
    silver_namespace,
    topic_of,
)


def table(*parts: str) -> TableIdentity:
    return TableIdentity(*((None,) * (3 - len(parts))), *parts)


# Schema and table of a PostgreSQL source, and the name; the hashes are part of the contract.
SILVER_NAMES = [
    ("public", "orders", "public__orders"),
    ("public", "order_lines", "public__order_lines"),
    ("INV", "ACCT", "inv__acct"),
    ("public", "_hidden", "public___hidden"),
    ("public_", "hidden", "public___hidden_795fdb54"),
    ("public", "A$B", "public__a_b_36fb92ab"),
    ("public", "A#B", "public__a_b_40cb5a79"),
    ("public", "a b", "public__a_b_97ba2fe2"),
    ("public", "a.b", "public__a_b_e6ef4e03"),
    ("public", "数据", "public_____f8691923"),
    ("public", "资料", "public_____4e2c120c"),
    ("public", "a__b", "public__a__b_48a97ee1"),
    ("public__a", "b", "public__a__b_d3c82aba"),
    ("public", "order_state", "public__order_state_3b758b78"),
    ("public", "price_history", "public__price_history_f68335fe"),
    ("price_history", "x", "price_history__x_42db8511"),
    ("orders", "state", "orders__state_2521d65c"),
    ("orders", "retired_1", "orders__retired_1_b0a2cee9"),
    ("public", "retired", "public__retired"),
    ("public", "x" * 300, None),
]


@pytest.mark.parametrize(("schema_name", "name", "expected"), SILVER_NAMES)
def test_a_table_gets_its_name(schema_name, name, expected):
    found = silver_name(table(schema_name, name), "postgresql")
    if expected is None:
        assert len(found) < 255 - len("__retired_1000")
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("connector", "expected"),
    [
        ("db2", "s__t"),
        ("mariadb", "d__t"),
        ("mysql", "d__t"),
        ("oracle", "s__t"),
        ("postgresql", "s__t"),
        ("sqlserver", "d__s__t"),
        ("ticdc", "d__t"),
    ],
)
def test_each_connector_has_its_parts(connector, expected):
    assert silver_name(TableIdentity("D", "S", "T"), connector) == expected


def test_twins_by_case_both_get_the_hash():
    found = silver_names([table("s", "Orders"), table("s", "orders"), table("s", "x")], "oracle")
    assert [re.sub(r"_[0-9a-f]{8}$", "_#", name) for name in found.values()] == [
        "s__orders_#",
        "s__orders_#",
        "s__x",
    ]
    assert len(set(found.values())) == 3


def test_a_newcomer_gets_the_hash_when_its_twin_is_published():
    old, new = table("s", "Orders"), table("s", "orders")
    found = silver_names([old, new], "oracle", published={old: "s__orders"})
    assert found[old] == "s__orders"
    assert found[new] == silver_name(new, "oracle", twin=True)


def test_twins_that_the_file_names_get_these_names():
    old, new = table("s", "Orders"), table("s", "orders")
    found = silver_names([old, new], "oracle", configured={old: "big_orders", new: "orders"})
    assert found == {old: "big_orders", new: "orders"}


def test_a_name_of_the_file_is_not_given_to_another_table():
    named, other = table("s", "a"), table("s", "orders")
    found = silver_names([named, other], "oracle", configured={named: "s__orders"})
    assert found[other] == silver_name(other, "oracle", twin=True)


def test_the_database_of_an_event_does_not_make_another_table():
    of_event = TableIdentity("db1", "s", "orders")
    found = silver_names([of_event], "postgresql", configured={table("s", "orders"): "o"})
    assert found == {of_event: "o"}


NAMES = st.text(alphabet="aAbB_$.é1", min_size=1, max_size=6)
TABLES = st.builds(TableIdentity, NAMES, NAMES, NAMES)


@given(st.lists(TABLES, max_size=40), st.sampled_from(sorted(CONNECTORS)))
def test_no_two_tables_share_a_name(tables, connector):
    found = silver_names(tables, connector)
    parts = {identity.parts(connector) for identity in tables}
    assert len(set(found.values())) == len(parts)


@given(TABLES, st.sampled_from(sorted(CONNECTORS)))
def test_a_name_is_plain_and_none_of_the_pipelines_own(identity, connector):
    found = silver_name(identity, connector)
    assert re.fullmatch(r"[a-z0-9_]+", found)
    assert not RESERVED_ENDINGS.search(found)


@given(st.builds(TableIdentity, *[st.text(min_size=1, max_size=8)] * 3))
def test_a_table_can_be_written_and_read(identity):
    for connector in CONNECTORS:
        found = parse_table(format_table(identity, connector), connector)
        assert found.parts(connector) == identity.parts(connector)


@pytest.mark.parametrize(
    ("text", "connector", "expected"),
    [
        ("public.orders", "postgresql", table("public", "orders")),
        ('"We ird.S"."T.b"', "postgresql", table("We ird.S", "T.b")),
        ('"a""b".c', "oracle", table('a"b', "c")),
        ("shop.orders", "mysql", TableIdentity("shop", None, "orders")),
        ("testDB.dbo.acct", "sqlserver", TableIdentity("testDB", "dbo", "acct")),
    ],
)
def test_a_table_is_read_as_files_write_it(text, connector, expected):
    assert parse_table(text, connector) == expected


@pytest.mark.parametrize("text", ["orders", "a.b.c", "a.", ".a", '"a.b', 'a"b.c', "", "a..b"])
def test_a_table_without_its_parts_is_refused(text):
    with pytest.raises(ConfigError, match=r"expected <schema>\.<table> for postgresql"):
        parse_table(text, "postgresql")


@pytest.mark.parametrize(
    ("identity", "connector", "topic"),
    [
        (table("public", "orders"), "postgresql", "p.public.orders"),
        (table("INV", "A$B"), "oracle", "p.INV.A_B"),
        (TableIdentity("db", "ignored", "t"), "mysql", "p.db.t"),
        (TableIdentity("testDB", "dbo", "t"), "sqlserver", "p.testDB.dbo.t"),
        (table("We ird.Schema", "Ta.ble Näme"), "postgresql", "p.We_ird.Schema.Ta.ble_N_me"),
        (table("s", "😀"), "postgresql", "p.s.__"),
    ],
)
def test_a_topic_is_called_as_the_connector_calls_it(identity, connector, topic):
    assert topic_of(identity, "p", connector) == topic


def test_identities_sort_by_their_parts():
    ordered = [
        TableIdentity(None, None, "b"),
        TableIdentity(None, "a", "a"),
        TableIdentity(None, "b", "a"),
        TableIdentity("a", None, "a"),
        TableIdentity("a", "a", "a"),
    ]
    for index, low in enumerate(ordered):
        for high in ordered[index + 1 :]:
            assert low < high


def test_identifiers_are_quoted():
    assert quote_ident("a`b") == "`a``b`"
    assert quote_table("bronze.shop") == "`bronze`.`shop`"
    assert (bronze_table("shop"), silver_namespace("shop")) == ("bronze.shop", "silver_shop")
