"""Masked columns in whole runs: what silver, its marks and its defaults have instead of a value."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import QUARANTINE
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.runs import Runs, laws_hold

SECRET = "a secret of the tests"
MONEY = {
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "10"},
}
MASKS = """
[tables."public.people".columns]
email  = { mask = "hash" }
card   = { mask = "drop" }
name   = { mask = "hash" }
amount = { mask = "hash" }
photo  = { mask = "hash" }
tags   = { mask = "hash" }
phone  = { mask = "redact" }
pin    = { mask = "redact" }
added  = { mask = "hash" }
gone   = { mask = "drop" }
"""
ALL = ("email", "name", "amount", "photo", "tags", "phone", "pin", "n")


@pytest.fixture
def runs(
    spark: SparkSession, settings: Settings, tmp_path, request, monkeypatch: pytest.MonkeyPatch
) -> Runs:
    monkeypatch.setenv("LAKEHOUSE_MASK_KEY", SECRET)
    name = request.function.__name__[5:45]
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n{MASKS}'
    return Runs(spark, settings, tmp_path, parse_source(text, name))


def people() -> Table:
    columns = [
        column("email", "string", optional=False),
        column("card", "string", optional=False),
        column("name", "string"),
        column("amount", "bytes", **MONEY),
        column("photo", "bytes"),
        column("tags", "array", items={"type": "string", "optional": True}),
        column("phone", "string"),
        column("pin", "int32", optional=False),
        column("n", "int32"),
    ]
    return Table("people", columns, key=("email",))


def person(email: str, **more: object) -> dict[str, object]:
    return {
        "email": email,
        "card": "4111",
        "name": "Ada",
        "amount": base64.b64encode((500).to_bytes(2, "big")).decode(),
        "photo": base64.b64encode(b"\xff\x00").decode(),
        "tags": ["a", "b"],
        "phone": "555",
        "pin": 1234,
        "n": 1,
    } | more


def hashed(value: str | bytes) -> str:
    data = value if isinstance(value, bytes) else value.encode()
    return hmac.new(SECRET.encode(), data, hashlib.sha256).hexdigest()


NOTHING = dict.fromkeys(("name", "amount", "photo", "tags", "phone"))


def test_silver_has_hashes_and_constants_in_the_place_of_values(runs: Runs):
    pg, table = Postgres(runs.source.name), people()
    pg.snapshot(table, [person("a@x"), person("b@x", **NOTHING)])
    first = runs.run(pg)
    assert laws_hold(first["apply"])
    assert first["validate"].detail["verdict"] == "passed"
    ada = (
        hashed("Ada"),
        hashed("5.00"),
        hashed(b"\xff\x00"),
        hashed('["a","b"]'),
        "***",
        None,
        1,
    )
    nobody = (None, None, None, None, None, None, 1)
    assert dict_of(runs) == {hashed("a@x"): ada, hashed("b@x"): nobody}

    # A key change with an unchanged value, a delete, bad values, added columns with a default.
    table.columns.append(column("added", "string", default="new"))
    table.columns.append(column("gone", "string", default="old"))
    more = {"added": "x", "gone": "y"}
    pg.transact(
        (table, "u", None, person("a@x", name=PLACEHOLDER, n=2, **more)),
        (table, "u", person("a@x"), person("c@x", name=PLACEHOLDER, n=3, **more)),
        (table, "d", person("b@x"), None),
        (table, "c", None, person("d@x", amount="?", **more)),
        (table, "c", None, person("e@x", n="none", **more)),
        (table, "c", None, person("f@x", pin="none", **more)),
    )
    second = runs.run(pg)
    assert laws_hold(second["apply"])
    assert dict_of(runs) == {
        hashed("c@x"): (*ada[:-1], 3),
        hashed("f@x"): ada,
    }
    keys = [(row["kind"], row["key"]) for row in runs.state("people")]
    marks = {"delete": ("a@x", "b@x"), "held": ("d@x", "e@x")}
    assert keys == sorted((k, f'["{hashed(e)}"]') for k, emails in marks.items() for e in emails)
    bad = {r.offset: r.detail for r in runs.ledger.rows(QUARANTINE, source=runs.source.name)}
    assert sorted(bad.values()) == ["columns amount", "columns n"]


def test_a_default_of_an_added_column_is_masked_in_older_rows(runs: Runs):
    pg, table = Postgres(runs.source.name), people()
    pg.snapshot(table, [person("a@x"), person("b@x")])
    runs.run(pg)
    table.columns.append(column("added", "string", default="new"))
    table.columns.append(column("gone", "string", default="old"))
    pg.transact((table, "u", None, person("a@x", added=None, gone=None)))
    runs.run(pg)
    rows = dict(runs.rows("people", "email", "added"))
    assert rows == {hashed("a@x"): None, hashed("b@x"): hashed("new")}
    assert "gone" not in runs.rows("people", "to_json(struct(*))")[0][0]
    recorded = runs.ledger.schema_versions(runs.source.name)
    assert not any("new" in row.columns or "old" in row.columns for row in recorded)


@pytest.mark.further
def test_another_secret_or_none_changes_nothing(runs: Runs, monkeypatch: pytest.MonkeyPatch):
    pg, table = Postgres(runs.source.name), people()
    pg.snapshot(table, [person("a@x")])
    runs.run(pg)
    pg.transact((table, "u", None, person("a@x", n=2)))
    monkeypatch.setenv("LAKEHOUSE_MASK_KEY", "another secret, twenty")
    held = runs.run(pg)
    assert laws_hold(held["apply"])
    (excluded,) = held["publish"].detail["excluded"].values()
    assert "LAKEHOUSE_MASK_KEY" in excluded["reason"]
    assert runs.rows("people", "n") == [(1,)]

    monkeypatch.delenv("LAKEHOUSE_MASK_KEY")
    refused = runs.run(pg, ("land", "check"))["check"]
    assert (refused.status, refused.exit_code) == ("failed", 2)
    assert "LAKEHOUSE_MASK_KEY has 0 bytes" in refused.message

    monkeypatch.setenv("LAKEHOUSE_MASK_KEY", SECRET)
    unmasked = parse_source(
        f'connector = "postgresql"\ntopic_prefix = "{runs.source.name}"', runs.source.name
    )
    (excluded,) = replace(runs, source=unmasked).run(pg)["publish"].detail["excluded"].values()
    assert "is stored as 'masked: keyed hash" in excluded["reason"]

    # What the table is behind with is of whole transactions, and what comes then is not.
    pg.transact((table, "u", None, person("a@x", n=3)), end=False)
    runs.run(pg)
    assert runs.rows("people", "n") == [(2,)]


def dict_of(runs: Runs) -> dict[object, tuple[object, ...]]:
    return {row[0]: row[1:] for row in runs.rows("people", *ALL)}
