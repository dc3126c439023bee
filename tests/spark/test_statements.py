"""What statements do to a table's columns, and a statement that a person decides about."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import SCHEMA_VERSIONS
from lakehouse.quality.schemas.decisions import Decision, decide
from lakehouse.spark.tables import full_name
from tests.support.binlog import MySql
from tests.support.debezium import Table, column
from tests.support.history_messages import record
from tests.support.runs import Runs, laws_hold

ID, A, B = (column(name, "int32", optional=name != "id") for name in ("id", "a", "b"))
V, GRADE, MADE = column("v", "string"), column("grade", "string"), column("made", "string")
# Rows, and how the table is then; each step is a statement and a change behind it.
STEPS = [
    ("CREATE", "", [ID, A, B, V], {"id": 1, "a": 1, "b": 10, "v": "x"}),
    (
        "ALTER",
        "CHANGE a b INT, CHANGE b a INT",
        [ID, B, A, V],
        {"id": 2, "b": 2, "a": 20, "v": "y"},
    ),
    ("ALTER", "DROP COLUMN v", [ID, B, A], {"id": 3, "b": 3, "a": 30}),
    ("ALTER", "ADD COLUMN v TEXT", [ID, B, A, V], {"id": 4, "b": 4, "a": 40, "v": "z"}),
    (
        "ALTER",
        "ADD COLUMN grade VARCHAR(9) DEFAULT 'new', ADD COLUMN made VARCHAR(9) DEFAULT (USER())",
        [ID, B, A, V, GRADE, MADE],
        {"id": 5, "b": 5, "a": 50, "v": "z", "grade": None, "made": "ann"},
    ),
]
# No event tells that the rows which were there have the default of a statement.
EXPECTED = [
    (1, 1, 10, "x", None, "new", None),
    (2, 2, 20, "y", None, "new", None),
    (3, 3, 30, None, None, "new", None),
    (4, 4, 40, None, "z", "new", None),
    (5, 5, 50, None, "z", None, "ann"),
]


COLUMNS = ("id", "b", "a", "v__dropped_1", "v", "grade", "made")


def source_of(name: str, more: str = ""):
    return parse_source(f'connector = "mysql"\ntopic_prefix = "{name}"\n{more}', name)


@pytest.mark.parametrize(
    "runs_each",
    [pytest.param(True, marks=pytest.mark.further), False],
    ids=["a_run_each", "one_run"],
)
def test_columns_that_swap_or_come_again_keep_their_values(spark, settings, tmp_path, runs_each):
    name = f"lives_{int(runs_each)}"
    runs = Runs(spark, settings, tmp_path, source_of(name))
    connector, orders = MySql(name), Table("orders", [])
    for kind, clause, columns, row in STEPS:
        orders.columns = columns
        connector.define(orders, kind, clause)
        connector.commit((orders, "c", None, row))
        if runs_each or row["id"] == 5:
            outcomes = runs.run(connector)
            assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
            assert laws_hold(outcomes["apply"])
            assert outcomes["check"].detail["unlike"] == ()
    shown = spark.table(full_name(f"silver_{name}.public__orders"))
    assert set(shown.columns) == {*COLUMNS, "_cdc"}
    assert runs.rows("orders", *COLUMNS) == EXPECTED
    assert any(
        "column 'made': it was added" in found for found in outcomes["apply"].detail["findings"]
    )


@pytest.mark.further
def test_a_new_column_may_take_the_name_that_a_rename_left_in_the_same_batch(
    spark, settings, tmp_path
):
    name, steps = "taken", ("RENAME COLUMN v TO w", "ADD COLUMN v TEXT")
    runs, connector = Runs(spark, settings, tmp_path, source_of(name)), MySql(name)
    apart, at_once = Table("apart", [ID, V]), Table("at_once", [ID, V])
    for table in (apart, at_once):
        connector.define(table, "CREATE")
        connector.commit((table, "c", None, {"id": 1, "v": "old"}))
    runs.run(connector)

    apart.columns = [ID, column("w", "string")]
    connector.define(apart, "ALTER", steps[0])
    apart.columns = at_once.columns = [ID, column("w", "string"), V]
    connector.define(apart, "ALTER", steps[1])
    connector.define(at_once, "ALTER", ", ".join(steps))
    for table in (apart, at_once):
        connector.commit((table, "c", None, {"id": 2, "w": "renamed", "v": "new"}))
    assert laws_hold(runs.run(connector)["apply"])
    for table in (apart, at_once):
        rows = runs.rows(table.name, "id", "w", "v")
        assert rows == [(1, "old", None), (2, "renamed", "new")], table.name


class Silent(MySql):
    """A connector that writes its internal schema history, and no schema change topic."""

    def define(self, table: Table, kind: str, clause: str = "", comment: str = "") -> None:
        super().define(table, kind, clause, comment)
        payload = json.loads(str(self.messages.pop()["value"]))
        # Where the connector would go on: behind the statement.
        offset = {"file": payload["source"]["file"], "pos": self.position + 50}
        document = {**record("mysql", payload, 0), "position": offset}
        self.send_raw("history", None, json.dumps(document, indent=2))


@pytest.mark.further
def test_a_history_tells_what_statements_did_where_nothing_else_does(spark, settings, tmp_path):
    name = "silent"
    source = source_of(name, '[kafka]\nschema_history = "history"\n')
    runs = Runs(spark, settings, tmp_path, source)
    connector, orders = Silent(name), Table("orders", [])
    connector.define(Table("elsewhere", [ID]), "CREATE")
    for kind, clause, columns, row in STEPS:
        orders.columns = columns
        connector.define(orders, kind, clause)
        connector.commit((orders, "c", None, row))
        if row["id"] in (2, 5):
            outcomes = runs.run(connector)
            assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
            assert laws_hold(outcomes["apply"])
            assert outcomes["check"].detail["unlike"] == ()
    assert runs.rows("orders", *COLUMNS) == EXPECTED
    told = [row for row in runs.ledger.schema_versions(name) if row.is_from_ddl]
    assert [(row.topic, row.table, row.change_kinds) for row in told] == [
        ("history", "public__orders", kinds)
        for kinds in (
            *(("create_table",), ("rename_column",), ("drop_column",)),
            *(("add_column",), ("add_column",)),
        )
    ]


def test_a_statement_alone_holds_its_table_until_a_person_decides(spark, settings, tmp_path):
    name = "commented"
    source = source_of(name, '[schema_changes]\nrequire_approval = ["comment"]\n')
    runs = Runs(spark, settings, tmp_path, source)
    connector, orders = MySql(name), Table("orders", [ID, A])
    connector.define(orders, "CREATE")
    connector.commit((orders, "c", None, {"id": 1, "a": 1}))
    connector.define(orders, "ALTER", "MODIFY a INT COMMENT 'pieces'", comment="pieces")
    connector.commit((orders, "c", None, {"id": 2, "a": 2}))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id") == [(1,)]

    decision = Decision("public.orders", "ann", datetime.now(UTC))
    recorded = runs.ledger.schema_versions(name)
    rows = decide(recorded, "mysql", source.schema_changes, decision)
    runs.ledger.append(SCHEMA_VERSIONS, rows)
    connector.commit((orders, "c", None, {"id": 3, "a": 3}))
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "a") == [(1, 1), (2, 2), (3, 3)]
