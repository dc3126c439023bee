"""Erasure: a subject's words are found nowhere afterwards, and everything else stays as it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.records import CONTROL_TABLES
from lakehouse.plan.remaking.erasing import Erasure
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.steps.context import StepOutcome
from lakehouse.steps.removal.erasure import erase_all
from lakehouse.steps.runner import execute
from tests.support.canaries import Search
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

WORDS = {
    "name": "canary-of-the-name-81",
    "note": "canary-of-the-note-81",
    "quarantined": "canary-of-the-quarantined-81",
    "broken": "canary-of-the-broken-81",
}
KEY = "canary-of-the-key-81"
CUSTOMERS, ORDERS = "customers", "orders"


def customers() -> Table:
    return Table(
        CUSTOMERS,
        [column("mail", "string", optional=False), column("name", "string"), column("n", "int32")],
        key=("mail",),
    )


def customer(mail: str, name: str, number: object = 1) -> dict[str, object]:
    return {"mail": mail, "name": name, "n": number}


def opened(spark: SparkSession, settings: Settings, folder: Path, name: str, more: str) -> Runs:
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += f'[tables."public.{CUSTOMERS}"]\n{more}\n'
    # A row of the subject breaks a rule, so that reports name its key.
    text += f'[[tables."public.{CUSTOMERS}".rules]]\nname = "small"\ndescription = "n is small"\n'
    text += 'violated = "n > 5"\nseverity = "warning"\n'
    return Runs(spark, settings, folder, parse_source(text, name))


def lived(runs: Runs) -> Postgres:
    """A subject comes, changes and goes, between others who stay; its key is in reports."""
    pg, head = Postgres(runs.source.name), customers()
    pg.snapshot(head, [customer("a@x", "first"), customer(KEY, WORDS["name"])])
    runs.run(pg)
    pg.transact(
        (head, "u", customer(KEY, WORDS["name"]), customer(KEY, WORDS["note"], 9)),
        (head, "c", None, customer("b@x", "second")),
    )
    runs.run(pg)
    # A value that is none of its type, and text that ends too early, which its key alone names.
    pg.transact((head, "u", None, customer(KEY, WORDS["quarantined"], "many")))
    sent = pg.messages[-2]
    pg.send_raw(str(sent["topic"]), str(sent["key"]), f'{{"name": "{WORDS["broken"]}"')
    runs.run(pg)
    pg.transact(
        (head, "d", customer(KEY, WORDS["note"], 9), None),
        (head, "u", None, customer("a@x", "first again")),
    )
    runs.run(pg)
    return pg


def erase(runs: Runs, *keys: str, forget_key: bool = True) -> list[StepOutcome]:
    asked = Erasure(f"public.{CUSTOMERS}", keys, "ann", forget_key)
    return erase_all(replace(runs.context(), erasure=asked))


def found(runs: Runs) -> dict[str, set[str]]:
    """Canary → the files of the home that have it; the archives that were landed are no part.

    Files that other tests wrote before this one's archives can have nothing of it.
    """
    search = Search(WORDS | {"key": KEY})
    home = runs.settings.home
    begun_s = min(path.stat().st_mtime for path in runs.folder.iterdir())
    # Blocks of the session that goes on; they go with the application.
    left_out = [*(home / "spark" / "tmp").rglob("*"), *merged_files(runs)]
    search.look_below(home, (str(path.relative_to(home)) for path in left_out), begun_s)
    return search.found


def merged_files(runs: Runs) -> set[Path]:
    """Files of control tables that were merged; maintenance removes them after three days."""
    found: set[Path] = set()
    catalog = runs.ledger.catalog
    for control in CONTROL_TABLES:
        if not catalog.table_exists(control.name):
            continue
        table = catalog.load_table(control.name)
        named = table.inspect.data_files().column("file_path").to_pylist()
        folder = Path(table.location().removeprefix("file:")) / "data"
        found |= set(folder.rglob("*.parquet")) - {Path(p.removeprefix("file:")) for p in named}
    return found


def contents(runs: Runs) -> list[tuple[object, ...]]:
    return runs.rows(CUSTOMERS, "mail", "name", "n", "_cdc.op", "_cdc.position")


@pytest.mark.parametrize(
    "options", ["history = true", pytest.param('delete = "soft"', marks=pytest.mark.further)]
)
def test_nothing_of_a_subject_is_left_and_all_else_stays(
    spark: SparkSession, tmp_path: Path, settings: Settings, options: str
):
    name = f"erased_{options.partition(' ')[0]}"
    runs = opened(spark, settings, tmp_path / "archives", name, options)
    pg = lived(runs)
    others = [row for row in contents(runs) if row[0] != KEY]
    assert set(found(runs)) == {*WORDS, "key"}
    quarantined = runs.ledger.quarantine(runs.source.name)
    assert {row.reason for row in quarantined} == {"bad_value", "not_json"}

    outcomes = erase(runs, json.dumps({"mail": KEY}))

    assert [outcome.status for outcome in outcomes] == ["succeeded"] * 4, outcomes
    assert laws_hold(outcomes[0])
    assert found(runs) == {}
    assert contents(runs) == others
    assert KEY not in outcomes[0].message
    # What it leaves can be made again, and goes on.
    rebuilt = [execute(s, replace(runs.context(), rebuild=Rebuild())) for s in ("apply",)]
    assert "1 are equal" in rebuilt[0].message, rebuilt[0].message
    pg.transact((customers(), "c", None, customer("c@x", "third")))
    later = runs.run(pg)
    assert later["publish"].status == "succeeded"
    assert laws_hold(later["apply"])
    assert [row[0] for row in contents(runs)] == [*(row[0] for row in others), "c@x"]


@pytest.mark.parametrize("delete", ["hard", pytest.param("soft", marks=pytest.mark.further)])
def test_an_erased_row_stays_away_though_silver_is_made_again_and_old_events_are_sent_again(
    spark: SparkSession, tmp_path: Path, settings: Settings, delete: str
):
    runs = opened(spark, settings, tmp_path / "archives", f"away_{delete}", f'delete = "{delete}"')
    pg, head = Postgres(runs.source.name), customers()
    pg.snapshot(head, [customer("a@x", "first")])
    pg.transact((head, "u", None, customer("a@x", "first again")))
    pg.transact((head, "c", None, customer(KEY, WORDS["name"])))
    pg.transact((head, "u", None, customer(KEY, WORDS["note"])))
    runs.run(pg)
    pg.transact((head, "d", customer(KEY, WORDS["note"]), None))
    runs.run(pg)
    old = [message for message in pg.messages if KEY in str(message["key"])][:2]
    others = [row for row in contents(runs) if row[0] != KEY]
    outcomes = erase(runs, json.dumps([KEY]), forget_key=False)
    assert [outcome.status for outcome in outcomes] == ["succeeded"] * 4, outcomes
    assert [(row["key"], row["cause"]) for row in runs.state(CUSTOMERS)] == [
        (json.dumps([KEY]), "erase")
    ]

    for _ in range(2 if EVERY_CASE else 1):
        again = execute("apply", replace(runs.context(), rebuild=Rebuild()))
        assert "0 differ, 1 are equal" in again.message, again.message
        for message in old:
            pg.send_raw(*(str(message[part]) for part in ("topic", "key", "value")))
        sent = runs.run(pg)
        assert sent["publish"].status == "succeeded", sent["publish"].message
        assert contents(runs) == others


@pytest.mark.further
def test_what_the_source_still_has_is_refused_and_what_was_killed_is_finished(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs = opened(spark, settings, tmp_path, "erased_live", "")
    pg, head = Postgres(runs.source.name), customers()
    pg.snapshot(head, [customer("a@x", "first"), customer(KEY, WORDS["name"])])
    runs.run(pg)
    before = contents(runs)
    [refused] = erase(runs, f'["{KEY}"]')
    assert (refused.status, contents(runs)) == ("failed", before)
    assert "1 rows of these keys are in silver" in refused.message
    pg.transact((head, "d", customer(KEY, WORDS["name"]), None))
    runs.run(pg)
    pg.transact((head, "c", None, customer(KEY, WORDS["note"])))
    runs.run(pg, ("land",))
    [refused] = erase(runs, f'["{KEY}"]')
    assert "1 messages of these keys are landed and not in the newest cut" in refused.message
    pg.transact((head, "d", customer(KEY, WORDS["note"]), None))
    runs.run(pg)

    cut = runs.ledger.newest_cut(runs.source.name)
    [nothing] = erase(runs, '["nobody@x"]')
    assert "bronze and silver have nothing of these keys" in nothing.message
    assert runs.ledger.newest_cut(runs.source.name) == cut

    asked = Erasure(f"public.{CUSTOMERS}", (f'["{KEY}"]',), "ann", forget_key=False)
    assert execute("apply", replace(runs.context(), erasure=asked)).status == "succeeded"
    assert set(found(runs)) == {"name", "note", "key"}
    outcomes = erase(runs, f'["{KEY}"]', forget_key=False)

    assert [outcome.status for outcome in outcomes] == ["succeeded"] * 4, outcomes
    assert set(found(runs)) == {"key"}
    assert [(row["kind"], row["key"]) for row in runs.state(CUSTOMERS)] == [
        ("delete", f'["{KEY}"]')
    ]
    assert contents(runs) == before[:1]
