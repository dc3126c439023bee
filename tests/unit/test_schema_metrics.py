"""Schema change events measured for their suite: what is wrong is counted, and named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from expectations import SUITES
from lakehouse.config import parse_source
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import SchemaVersionRow
from lakehouse.quality.judgement import Measurement, judge
from lakehouse.quality.schemas.ddl import SchemaEvent
from lakehouse.quality.schemas.schema_metrics import Known, measure_events
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.groups import group_of
from tests.support.schema_events import change, column, data_row, event

SHOP = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
ID, NAME = column("id", optional=False), column("name", "VARCHAR", length=10)
AGE = column("age")
CREATED = event(1, change("CREATE", ID, NAME))
GOOD = event(2, change("ALTER", ID, NAME, AGE))


def measured(
    *events: SchemaEvent,
    recorded: Sequence[SchemaVersionRow] = (),
    of_data: Sequence[SchemaVersionRow] = (),
    groups: Sequence[Group] = (),
) -> Measurement:
    new = (*of_data, *ddl_rows(SHOP, "run", events, recorded))
    return measure_events("shop", events, Known(SHOP, recorded, new, groups))


def failed(found: Measurement) -> list[str]:
    findings = judge(SUITES["schema_changes"], [found]).findings
    return [finding.rule.name for finding in findings if not finding.success]


def group(first: str, last: str) -> Group:
    return group_of(
        topic="shop.shop.orders",
        identity=TableIdentity("shop", None, "orders"),
        count=2,
        rows=2,
        first_position=first,
        first_incremental=first,
        last_incremental=last,
    )


UNPLACED = change("ALTER", ID, NAME | {"position": 3})
# Rule → the events behind CREATED, and what else is known.
BAD = {
    "no_malformed_records": partial(measured, CREATED, event(2, document='{"ddl": ""}')),
    "no_unknown_change_types": partial(measured, CREATED, event(2, change("MOVE", ID, NAME))),
    "no_unknown_key_columns": partial(
        measured, CREATED, event(2, change("ALTER", ID, NAME, key=("id", "no")))
    ),
    "no_misplaced_columns": partial(measured, CREATED, event(2, UNPLACED)),
    "no_columns_differing_by_case": partial(
        measured, CREATED, event(2, change("ALTER", ID, NAME, column("NAME")))
    ),
    "no_tables_sharing_a_name": partial(
        measured, CREATED, event(2, change("CREATE", ID, table="Orders"))
    ),
    "no_positions_going_back": partial(
        measured, CREATED, event(2, change("ALTER", ID, NAME), position="0000000000")
    ),
    "no_messages_in_other_partitions": partial(
        measured, CREATED, event(2, change("ALTER", ID, NAME), partition=1)
    ),
    "no_missing_offsets": partial(measured, CREATED, event(4, change("ALTER", ID, NAME, AGE))),
    "no_changes_of_unknown_tables": partial(measured, GOOD),
    "no_changes_during_snapshots": partial(
        measured, CREATED, GOOD, groups=[group("0000000001", "0000000003")]
    ),
    "no_breaking_changes": partial(measured, CREATED, event(2, change("ALTER", ID))),
    "no_lossy_columns": partial(
        measured, CREATED, GOOD, of_data=[data_row(("born", "io.debezium.time.Date"))]
    ),
}


# Both of a pair are counted.
OF_TWO = {"no_columns_differing_by_case", "no_tables_sharing_a_name"}


def test_good_events_pass_the_suite() -> None:
    good = measured(
        CREATED,
        event(3, change("ALTER", ID, NAME, AGE)),
        of_data=[data_row(("born", "io.debezium.data.Uuid"))],
        groups=[group("0000000003", "0000000004")],
    )

    assert failed(good) == []


def test_copies_in_data_topics_may_come_from_any_partition() -> None:
    source = parse_source(
        'connector = "ticdc"\ntopic_prefix = "default"\nkafka.topics = ["tidb"]\n', "tidb"
    )
    copy = event(2, change("ALTER", ID, NAME, AGE), topic="tidb", partition=1)
    new = ddl_rows(source, "run", [copy], ())

    found = measure_events("tidb", [copy], Known(source, (), new))

    assert failed(found) == []


def test_each_rule_has_bad_events() -> None:
    assert set(BAD) == {rule.name for rule in SUITES["schema_changes"].rules}


@pytest.mark.parametrize("rule", BAD)
def test_bad_events_fail_their_rule_and_are_named(rule: str) -> None:
    found = BAD[rule]()
    metric = rule.removeprefix("no_")

    assert failed(found) == [rule]
    assert found.values[metric] == (2 if rule in OF_TWO else 1)
    assert found.notes[metric]


def test_a_note_names_what_was_counted() -> None:
    assert BAD["no_misplaced_columns"]().notes == {
        "misplaced_columns": "offset 2: shop.orders.name"
    }
    assert BAD["no_tables_sharing_a_name"]().notes == {
        "tables_sharing_a_name": "shop.Orders as shop__orders; shop.orders as shop__orders"
    }
    assert BAD["no_missing_offsets"]().notes == {"missing_offsets": "offsets 2 to 3"}
    assert (
        BAD["no_lossy_columns"]()
        .notes["lossy_columns"]
        .startswith("silver_shop.shop__orders.born (zero dates arrive as")
    )


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ((), "drop_table"),
        ((ID,), "drop_column"),
        ((ID, NAME | {"length": 5}), "narrow_type"),
        ((ID, NAME | {"typeExpression": "TEXT", "length": None}), "change_type"),
        ((ID, NAME | {"optional": False}), "NOT NULL of name"),
    ],
)
def test_what_breaks_readers_is_named(columns: tuple[dict[str, object], ...], note: str) -> None:
    kind = "ALTER" if columns else "DROP"
    found = measured(CREATED, event(2, change(kind, *columns)))

    assert found.notes["breaking_changes"] == f"shop.orders: {note}"


def test_a_column_that_may_be_null_from_now_on_breaks_nothing() -> None:
    required = event(1, change("CREATE", ID, NAME | {"optional": False}))

    assert failed(measured(required, event(2, change("ALTER", ID, NAME)))) == []


def test_a_version_that_was_recorded_in_an_earlier_run_is_known() -> None:
    recorded = ddl_rows(SHOP, "earlier", (CREATED,), ())

    assert failed(measured(GOOD, recorded=recorded)) == []
    assert failed(measured(CREATED, GOOD, recorded=recorded)) == []
    assert failed(measured(event(2, change("ALTER", ID)), recorded=recorded)) == [
        "no_breaking_changes"
    ]


def test_twins_that_the_toml_file_names_share_no_name() -> None:
    text = 'connector = "mysql"\ntopic_prefix = "shop"\n[tables."shop.Orders"]\ntable = "mine"\n'
    source = parse_source(text, "shop")
    twins = (CREATED, event(2, change("CREATE", ID, table="Orders")))
    new = ddl_rows(source, "run", twins, ())

    found = measure_events("shop", twins, Known(source, (), new))

    assert failed(found) == []


def test_a_source_whose_changes_stand_between_its_events_has_no_first_version() -> None:
    text = 'connector = "ticdc"\ntopic_prefix = "default"\n[kafka]\ntopics = ["shop"]\n'
    source = parse_source(text, "shop")
    new = ddl_rows(source, "run", (GOOD,), ())

    found = measure_events("shop", (GOOD,), Known(source, (), new))

    assert "changes_of_unknown_tables" not in found.values
    assert failed(found) == []
