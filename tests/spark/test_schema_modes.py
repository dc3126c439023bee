"""What silver has after a change that it cannot follow: by mode, and by a person's decision."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import SCHEMA_VERSIONS
from lakehouse.quality.schemas.decisions import Decision, decide
from lakehouse.steps.context import StepOutcome
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold

ID = column("id", "int32", optional=False)
QTY = column("qty", "int32")
# Mode → silver's columns, the columns that changed by their values of 2 and 4, a finding.
EXPECTED = {
    "try_evolve": (["id", "qty", "old", "big", "note"], (12, 2**40, "n2"), ""),
    "lenient": (["id", "qty", "old", "big", "note"], (12, 2**40, "n2"), ""),
    "ignore": (["id", "qty", "old", "big"], (12, None, None), "leaves out the columns note"),
}


@pytest.mark.parametrize(
    "mode",
    ["ignore", *(pytest.param(m, marks=pytest.mark.further) for m in EXPECTED if m != "ignore")],
)
def test_what_fits_is_applied_and_what_does_not_is_quarantined(spark, settings, tmp_path, mode):
    name = f"mode_{mode}"
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    # The source's mode, or where that says something else the table's own.
    by_table = '[schema_changes]\nmode = "fail"\n[tables."public.orders"]\nschema_changes.mode = '
    text += f'{by_table}"{mode}"\n' if mode == "ignore" else f'[schema_changes]\nmode = "{mode}"\n'
    runs = Runs(spark, settings, tmp_path, parse_source(text, name))
    connector, orders = Postgres(name), Table("orders", [])
    orders.columns = [ID, QTY, column("old", "string"), column("big", "int32")]
    connector.snapshot(orders, [row(1, 1, old="o1", big=1), row(2, 2, old="o2", big=2)])
    runs.run(connector)

    # Text for a number, more bits, one column more and one less.
    orders.columns = [ID, column("qty", "string"), column("big", "int64"), column("note", "string")]
    connector.transact((orders, "u", None, row(2, "12", big=7, note="n2")))
    connector.transact((orders, "c", None, row(3, "a dozen", big=8, note="n3")))
    connector.transact((orders, "c", None, row(4, "4", big=2**40, note="n4")))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert outcomes["publish"].status == "succeeded"

    columns, (quantity, big, note), finding = EXPECTED[mode]
    shown = spark.table(f"lakehouse.silver_{name}.public__orders")
    assert [name for name in shown.columns if name != "_cdc"] == columns
    rows = {r["id"]: r.asDict() for r in shown.collect()}
    assert rows[1]["qty"] == 1
    assert (rows[2]["qty"], rows[2].get("note")) == (quantity, note)
    assert (rows[4]["big"] if 4 in rows else None) == big
    bad = {3} if mode != "ignore" else {3, 4}
    assert set(rows) == {1, 2, 3, 4} - bad
    assert rows[2]["old"] is None
    said = [each for each in outcomes["apply"].detail["findings"] if "leaves out" in each]
    assert [finding in each for each in said] == ([True] if finding else [])


def row(number: int, quantity: object, **more: object) -> dict[str, object]:
    return {"id": number, "qty": quantity, **more}


def reasons(outcomes: Mapping[str, StepOutcome]) -> list[str]:
    return [str(held["reason"]) for held in outcomes["check"].detail["held"].values()]


def field_ids(runs: Runs, table: str) -> list[tuple[str, int]]:
    """Silver's columns with Iceberg's ids."""
    schema = runs.ledger.catalog.load_table(f"silver_{runs.source.name}.public__{table}").schema()
    return [(field.name, field.field_id) for field in schema.fields]


def approve(runs: Runs, table: str, *renames: tuple[str, str]) -> None:
    decision = Decision(table, "ann", datetime.now(UTC), renames=renames)
    recorded = runs.ledger.schema_versions(runs.source.name)
    rows = decide(recorded, "postgresql", runs.source.schema_changes, decision)
    runs.ledger.append(SCHEMA_VERSIONS, rows)


@pytest.mark.further
def test_what_a_hold_keeps_back_does_not_place_what_is_read_with_it(spark, settings, tmp_path):
    """The connector starts again while a table is held: what it sends first has no commit."""
    name, columns = "held_restart", [ID, QTY]
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[schema_changes]\nrequire_approval = ["add_column"]\n'
    runs = Runs(spark, settings, tmp_path, parse_source(text, name))
    connector, table = Postgres(name), Table("orders", columns)
    connector.snapshot(table, [row(1, 1), row(2, 1), row(3, 1)])
    runs.run(connector)

    table.columns = [ID, QTY, column("note", "string")]
    connector.transact((table, "u", None, row(2, 2, note="held from here on")))
    connector.last_commit = None
    connector.transact((table, "u", None, row(1, 2, note="first of the new start")))
    connector.transact((table, "u", None, row(1, 3, note="newest")))
    connector.snapshot(table, [row(1, 3, note="newest"), row(2, 2, note="read"), row(3, 1)])
    connector.transact((table, "u", None, row(3, 4, note="newest")), (table, "d", row(2, 2), None))
    for number in (10, 11):
        connector.transact((table, "c", None, row(number, 1)))
        runs.run(connector)
    assert runs.rows("orders", "id", "qty") == [(1, 1), (2, 1), (3, 1)]

    approve(runs, "public.orders")
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "qty") == [(1, 3), (3, 4), (10, 1), (11, 1)]


@pytest.mark.further
def test_a_snapshot_behind_a_truncate_reads_what_is_there(spark, settings, tmp_path):
    """Its rows stand where the newest event stands that was streamed before them."""
    name, table = "read_emptied", Table("orders", [ID, QTY])
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    runs = Runs(spark, settings, tmp_path, parse_source(text, name))
    connector = Postgres(name)
    connector.transact((table, "c", None, row(1, 1)), (table, "c", None, row(5, 5)))
    connector.transact((table, "t", None, None))
    connector.snapshot(table, [row(1, 2), row(2, 2)])
    runs.run(connector)
    assert runs.rows("orders", "id", "qty") == [(1, 2), (2, 2)]

    connector.transact((table, "t", None, None))
    runs.run(connector)
    assert runs.rows("orders", "id") == []
    connector.snapshot(table, [row(1, 3), row(2, 3)])
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("orders", "id", "qty") == [(1, 3), (2, 3)]


@pytest.mark.further
def test_an_approved_table_goes_on_where_it_stopped_and_nothing_is_lost(spark, settings, tmp_path):
    name, columns = "approved", [ID, QTY]
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\n'
    text += '[schema_changes]\nrequire_approval = ["add_column"]\n'
    runs = Runs(spark, settings, tmp_path, parse_source(text, name))
    connector = Postgres(name)
    wider, retyped, free, renamed = (
        Table(each, columns) for each in ("wider", "retyped", "free", "renamed")
    )
    for table in (wider, retyped, free, renamed):
        connector.snapshot(table, [row(1, 1)])
    runs.run(connector)

    wider.columns = [ID, QTY, column("note", "string")]
    retyped.columns = [ID, column("qty", "string")]
    renamed.columns = [ID, column("amount", "int32")]
    changes = [(wider, row(2, 2, note="n")), (retyped, row(2, "2")), (free, row(2, 2))]
    changes.append((renamed, {"id": 2, "amount": 2}))
    connector.transact(*((table, "c", None, after) for table, after in changes))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert [len(runs.rows(each, "id")) for each in ("wider", "retyped", "free")] == [1, 1, 2]

    assert [reason for reason in reasons(outcomes) if "--rename qty=amount" in reason]
    before = field_ids(runs, "renamed")
    approve(runs, "public.renamed", ("qty", "amount"))
    for table in ("wider", "retyped"):
        approve(runs, f"public.{table}")
    # One column more is another version, and its text is no number still.
    retyped.columns = [*retyped.columns, column("big", "int32")]
    connector.transact((retyped, "c", None, row(3, "three")), (retyped, "c", None, row(4, "4")))
    runs.run(connector)
    assert runs.rows("renamed", "id", "amount") == [(1, 1), (2, 2)]
    assert field_ids(runs, "renamed") == [*before[:1], ("amount", before[1][1]), *before[2:]]
    assert runs.rows("wider", "id", "qty", "note") == [(1, 1, None), (2, 2, "n")]
    assert runs.rows("retyped", "id", "qty") == [(1, 1), (2, 2)]
    approve(runs, "public.retyped")
    assert laws_hold(runs.run(connector)["apply"])
    assert runs.rows("retyped", "id", "qty") == [(1, 1), (2, 2), (4, 4)]
    [bad] = runs.ledger.quarantine(name)
    assert (bad.reason, bad.detail) == ("bad_value", "columns qty")
