"""Tables whose events do not name a row by their key: bags, keys of the TOML file."""

from __future__ import annotations

import base64

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import QUARANTINE
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs, laws_hold

ROW = dict[str, object]
PLACEHOLDER_BASE64 = base64.b64encode(PLACEHOLDER.encode()).decode()
COLUMNS = [column("place", "string"), column("n", "int32"), column("photo", "bytes")]


@pytest.fixture
def runs(spark, settings, tmp_path, request) -> Runs:
    name = request.function.__name__.removeprefix("test_")[:40]
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[tables."public.keyed"]\nkey = ["place"]\n'
    return Runs(spark, settings, tmp_path, parse_source(text, name))


def row(place: str, n: int | None, photo: str | None = None) -> ROW:
    return {"place": place, "n": n, "photo": photo}


def test_a_table_without_a_key_is_a_bag_of_rows(runs: Runs):
    visits = Table("visits", COLUMNS, key=())
    connector = Postgres(runs.source.name)
    connector.snapshot(visits, [row("Turku", 1), row("Turku", 1), row("Oulu", None, "/w==")])
    connector.transact((visits, "c", None, row("Turku", 1)), (visits, "c", None, row("Oulu", 2)))
    assert laws_hold(runs.run(connector)["apply"])
    first = [("Oulu", 2), ("Turku", 1), ("Turku", 1), ("Turku", 1)]
    stored = runs.rows("visits", "place", "coalesce(n, -1) AS n")
    assert stored == sorted([("Oulu", -1), *first])

    start = connector.mark()
    connector.transact(
        (visits, "d", row("Turku", 1), None),
        (visits, "u", row("Oulu", None, "/w=="), row("Oulu", 2, "/g==")),
        (visits, "u", row("Oulu", 2), row("Oulu", 2)),
    )
    connector.redeliver(start, first_without_commit=True)
    outcome = runs.run(connector)["apply"]
    assert laws_hold(outcome)
    after = [("Oulu", 2, ""), ("Oulu", 2, "FE"), ("Turku", 1, ""), ("Turku", 1, "")]
    assert runs.rows("visits", "place", "n", "coalesce(hex(photo), '') AS photo") == after

    connector.transact((visits, "t", None, None), (visits, "c", None, row("Vaasa", 7)))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n") == [("Vaasa", 7)]
    connector.transact((visits, "d", row("Vaasa", 7), None), (visits, "d", row("Vaasa", 7), None))
    runs.run(connector)
    assert runs.rows("visits", "place") == []


@pytest.mark.further
def test_the_rows_of_one_copy_share_a_number_and_none_is_a_redelivery(runs: Runs):
    visits = Table("visits", COLUMNS, key=())
    connector = Postgres(runs.source.name, step=0)
    copied = [row(place, n) for n, place in enumerate(("Turku", "Oulu", "Vaasa", "Turku", "Turku"))]
    start = connector.mark()
    # The connector has begun, so that the commit before is not told; two rows are equal.
    connector.transact(*((visits, "c", None, each) for each in (*copied, row("Turku", 4))))
    expected = sorted([("Turku", 0), ("Oulu", 1), ("Vaasa", 2), ("Turku", 3), *[("Turku", 4)] * 2])
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n") == expected

    connector.redeliver(start, first_without_commit=True)
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n") == expected


@pytest.mark.further
def test_an_update_keeps_a_large_value_under_a_key_of_the_toml_file(runs: Runs):
    keyed = Table("keyed", COLUMNS, key=())
    connector, large = Postgres(runs.source.name), PLACEHOLDER_BASE64
    connector.transact((keyed, "c", None, row("Turku", 1, "/w==")))
    connector.transact((keyed, "u", row("Turku", 1, large), row("Turku", 2, large)))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("keyed", "place", "n", "hex(photo)") == [("Turku", 2, "FF")]
    connector.transact((keyed, "u", row("Turku", 2, large), row("Turku", 3, large)))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("keyed", "place", "n", "hex(photo)") == [("Turku", 3, "FF")]


def test_a_change_of_a_bag_without_the_row_before_is_quarantined(runs: Runs):
    visits = Table("visits", COLUMNS, key=())
    connector = Postgres(runs.source.name)
    connector.transact((visits, "c", None, row("Turku", 1)))
    connector.transact((visits, "u", None, row("Turku", 2)), (visits, "c", None, row("Oulu", 3)))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n") == [("Oulu", 3), ("Turku", 1)]
    rows = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    assert [row.reason for row in rows] == ["no_before_image"]


def test_a_change_of_a_bag_whose_row_before_has_a_gap_is_quarantined(runs: Runs):
    visits = Table("visits", COLUMNS, key=())
    connector, large = Postgres(runs.source.name), PLACEHOLDER_BASE64
    connector.transact(*((visits, "c", None, row(at, 1, "/w==")) for at in ("Turku", "Oulu")))
    connector.transact(
        (visits, "u", row("Turku", 1, large), row("Turku", 2, large)),
        (visits, "d", row("Oulu", 1, large), None),
    )
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n", "hex(photo)") == [
        ("Oulu", 1, "FF"),
        ("Turku", 1, "FF"),
    ]
    rows = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    assert [row.reason for row in rows] == ["no_before_image"] * 2


def test_a_new_row_of_a_bag_whose_large_value_is_not_sent_is_told(runs: Runs):
    connector = Postgres(runs.source.name)
    visits = Table("visits", COLUMNS, key=())
    connector.transact((visits, "c", None, row("Turku", 1, PLACEHOLDER_BASE64)))
    outcome = runs.run(connector)
    assert laws_hold(outcome["apply"])
    assert runs.rows("visits", "place", "n", "hex(photo)") == [("Turku", 1, None)]
    assert "first warning no_unresolved_placeholders" in outcome["validate"].message


@pytest.mark.further
def test_a_key_of_the_toml_file_follows_its_row(runs: Runs):
    keyed = Table("keyed", COLUMNS, key=())
    connector = Postgres(runs.source.name)
    connector.transact((keyed, "c", None, row("Turku", 1)), (keyed, "c", None, row("Oulu", 2)))
    runs.run(connector)
    connector.transact(
        (keyed, "u", row("Turku", 1), row("Vaasa", 1)),
        (keyed, "u", row("Oulu", 2), row("Oulu", 3)),
        (keyed, "c", None, row("Turku", 4)),
    )
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("keyed", "place", "n") == [("Oulu", 3), ("Turku", 4), ("Vaasa", 1)]
    connector.transact((keyed, "d", row("Vaasa", 1), None))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("keyed", "place", "n") == [("Oulu", 3), ("Turku", 4)]


def test_a_message_without_a_key_in_a_table_that_has_one_is_quarantined(runs: Runs):
    orders = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
    stray = Table("orders", orders.columns, key=())
    connector = Postgres(runs.source.name)
    connector.transact((orders, "c", None, {"id": 1, "name": "a"}))
    runs.run(connector)
    connector.transact((stray, "c", None, {"id": 2, "name": "b"}))
    connector.transact((orders, "u", None, {"id": 1, "name": "c"}))
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "name") == [(1, "c")]
    rows = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    assert [row.reason for row in rows] == ["no_key"]


def test_an_update_of_which_one_half_is_bad_is_quarantined_as_a_whole(runs: Runs):
    visits, keyed = (Table(name, COLUMNS, key=()) for name in ("visits", "keyed"))
    connector = Postgres(runs.source.name)
    connector.transact(
        (visits, "c", None, row("Turku", 1)),
        (keyed, "c", None, row("Turku", 1)),
        (keyed, "c", None, row("Oulu", 2)),
    )
    bad = {"n": "no number"}
    connector.transact(
        (visits, "u", row("Turku", 1), row("Turku", 1) | bad),
        (keyed, "u", row("Turku", 1), row("Vaasa", 1) | bad),
        (keyed, "u", row("Oulu", 2), row("Oulu", 2) | bad),
    )
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("visits", "place", "n") == [("Turku", 1)]
    assert runs.rows("keyed", "place", "n") == [("Oulu", 2), ("Turku", 1)]
    rows = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    assert [(row.reason, row.detail) for row in rows] == [("bad_value", "columns n")] * 3
    # Both the old and the new key of a row are held; a bag has no keys.
    assert [row["key"] for row in runs.state("keyed")] == ['["Oulu"]', '["Turku"]', '["Vaasa"]']
    assert runs.state("visits") == []
