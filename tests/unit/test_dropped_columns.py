"""Columns that a source dropped: when they leave silver, and which ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from lakehouse.config import SourceConfig, parse_source
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.cuts.published import Renaming, renames_of
from lakehouse.plan.progress import Progress
from lakehouse.plan.records import HOLD, KEEP, SchemaVersionRow
from lakehouse.plan.schemas.incarnations import Parts
from lakehouse.plan.schemas.renames import Rename, Renames
from lakehouse.plan.schemas.row_schema import PROVEN, RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.quality.schemas.dropped_columns import Dropped, dropped_columns
from lakehouse.quality.schemas.statements import incarnations
from lakehouse.quality.schemas.version_rows import LandedSchemas, data_rows
from lakehouse.quality.schemas.versions import Judged, Version
from tests.support.groups import group_of
from tests.unit.test_column_lives import ADD, DROP, START, rows

ORDERS = TableIdentity("app", "public", "orders")
SHOP_ORDERS: tuple[Parts, int] = (("shop", "orders"), 0)
PUBLIC_ORDERS: tuple[Parts, int] = (("public", "orders"), 0)


def source(connector: str, more: str = 'drop_column = "drop"') -> SourceConfig:
    text = f'connector = "{connector}"\ntopic_prefix = "s"\n[schema_changes]\n{more}\n'
    return parse_source(text, "s")


def of_statements(
    versions: Sequence[SchemaVersionRow], config: SourceConfig | None = None
) -> Mapping[tuple[Parts, int], Dropped]:
    config = config or source("mysql")
    return dropped_columns(versions, config, incarnations(versions, config.connector))


def test_a_statement_tells_which_column_goes_and_under_which_name() -> None:
    assert of_statements(rows(START)) == {}
    assert of_statements(rows(START, DROP))[SHOP_ORDERS].names == {"name"}
    again = of_statements(rows(START, DROP, ADD))[SHOP_ORDERS]
    assert again.names == {"name__dropped_1"}, "what comes back is a new column"
    assert of_statements(rows(START, DROP, ADD, DROP))[SHOP_ORDERS].names == {
        "name",
        "name__dropped_1",
    }


@pytest.mark.parametrize(
    "text",
    [
        'drop_column = "keep"',
        'drop_column = "drop"\nmode = "lenient"',
        'drop_column = "drop"\nmode = "ignore"',
        'drop_column = "drop"\n[tables."shop.orders"]\ndrop_column = "keep"',
    ],
)
def test_a_column_stays_where_the_file_or_the_mode_says_so(text: str) -> None:
    assert of_statements(rows(START, DROP), source("mysql", text)) == {}


def test_one_table_may_let_its_columns_go_alone() -> None:
    text = '[tables."shop.orders"]\ndrop_column = "drop"'
    assert of_statements(rows(START, DROP), source("mysql", text))[SHOP_ORDERS].names == {"name"}
    other = '[tables."shop.items"]\ndrop_column = "drop"'
    assert of_statements(rows(START, DROP), source("mysql", other)) == {}


def test_nothing_goes_from_a_statement_on_that_waits_for_a_person() -> None:
    created, dropped = rows(START, DROP)
    assert of_statements([created, replace(dropped, verdict=HOLD)]) == {}


def sent(*versions: Sequence[str], wire: str = "int32") -> list[SchemaVersionRow]:
    """The versions of a table as data events carry them, by the names of their columns."""
    judged = tuple(
        Judged(
            Version(
                ORDERS,
                hash(tuple(names)),
                tuple(
                    Column(name, ValueType(Kind.CAST, "int"), optional=True, wire=wire)
                    for name in names
                ),
                ("id",),
                (("s.public.orders", 0, number),),
                position=f"{number:04}",
            ),
            (),
            "evolve",
            "",
            is_new=True,
        )
        for number, names in enumerate(versions, 1)
    )
    landed = LandedSchemas({ORDERS: judged}, {ORDERS: "public__orders"}, (), ())
    return list(data_rows(source("postgresql"), "run", landed))


def of_events(versions: Sequence[SchemaVersionRow]) -> Dropped:
    config = source("postgresql")
    found = dropped_columns(versions, config, incarnations(versions, "postgresql"))
    return found.get(PUBLIC_ORDERS, Dropped())


def test_without_statements_the_schemas_in_data_events_tell_it() -> None:
    assert of_events(sent(["id", "a", "b"], ["id", "a"])) == Dropped(frozenset({"b"}))
    assert of_events(sent(["id"], ["id", "a"])) == Dropped()


def test_a_column_that_data_events_have_again_is_there_again() -> None:
    found = of_events(sent(["id", "a"], ["id"], ["id", "a"]))
    assert (found.names, found.again) == (frozenset(), {"a": "0002"})


def test_a_version_that_is_held_or_leaves_columns_as_they_are_drops_none() -> None:
    before, after = sent(["id", "a"], ["id"])
    for verdict in (HOLD, KEEP):
        assert of_events([before, replace(after, verdict=verdict)]) == Dropped()


def test_a_renamed_column_is_not_gone() -> None:
    before, after = sent(["id", "a"], ["id", "b"])
    mapped = after.columns.replace('"name": "b"', '"name": "b", "was": "a"')
    assert of_events([before, replace(after, columns=mapped)]) == Dropped()


def test_messages_without_a_schema_drop_nothing() -> None:
    rows_without_values = sent(["id", "a"], ["id"], wire=PROVEN)
    assert of_events(rows_without_values) == Dropped(), "all values of a column may be NULL"


def test_columns_from_which_the_names_of_our_own_come_stay() -> None:
    assert of_events(sent(["id", "_cdc", "_Version", "a"], ["id"])).names == {"a"}


def plan(
    *versions: Sequence[str],
    stored: Sequence[str],
    dropped: Sequence[str],
    renames: Renames | None = None,
    holds: Mapping[int, str] | None = None,
) -> TablePlan:
    groups = [
        group_of(
            topic="s.public.orders",
            identity=ORDERS,
            collection="public.orders",
            fingerprint=number,
            key_fields='["id"]',
            rows=1,
            first_offset=number,
            first_position=f"{number:04}",
        )
        for number, _ in enumerate(versions, 1)
    ]
    schemas = {
        number: RowSchema(
            tuple(Column(name, ValueType(Kind.CAST, "int"), optional=True) for name in names)
        )
        for number, names in enumerate(versions, 1)
    }
    facts = TableFacts(
        "silver_s.public__orders",
        dict.fromkeys(stored, "int"),
        Progress(),
        holds or {},
        ("id",) if stored else None,
        renames or Renames(),
        dropped=frozenset(dropped),
    )
    return plan_table(ORDERS, groups, schemas, facts, TableRules())


def test_a_stored_column_goes_in_publish_and_its_values_are_staged_until_then() -> None:
    found = plan(["id", "a"], ["id"], stored=["id", "a"], dropped=["a"])
    assert (found.dropped, list(found.columns)) == (("a",), ["id", "a"])
    assert [column.name for column in found.versions[0].columns] == ["id", "a"]


def test_an_older_version_does_not_bring_a_column_back() -> None:
    found = plan(["id", "a"], stored=["id"], dropped=["a"])
    assert (found.dropped, list(found.columns), found.notes) == ((), ["id"], ())
    assert found.versions[0].withheld == ("a",)
    assert list(plan(["id", "a"], ["id"], stored=[], dropped=["a"]).columns) == ["id"]


def test_a_name_that_is_used_again_is_that_of_the_new_column() -> None:
    renames = Renames(
        (
            Rename("0002", "a", "a__dropped_1", goes=True),
            Rename("0002", "a__coming", "a", comes=True),
        )
    )
    at_once = plan(
        ["id", "a"], ["id", "a"], stored=["id", "a"], dropped=["a__dropped_1"], renames=renames
    )
    assert at_once.dropped == ("a__dropped_1",)
    assert [rename.name for rename in at_once.renames] == ["a__dropped_1", "a"]
    later = plan(
        ["id", "a"],
        stored=["id", "a"],
        dropped=["a__dropped_1"],
        renames=replace(renames, done="0002"),
    )
    assert later.dropped == ()
    assert later.versions[0].withheld == ("a",), "the event is older than the column"


def test_a_held_table_and_a_key_keep_their_columns() -> None:
    held = plan(["id", "a"], ["id"], stored=["id", "a"], dropped=["a"], holds={2: "wait"})
    assert (held.hold, held.dropped) == ("wait", ())
    assert plan(["id"], stored=["id", "a"], dropped=["id"]).dropped == ()


def test_what_goes_is_on_record_with_the_cut() -> None:
    text = '{"silver_s.o": {"columns": [["a", "b"]], "position": "7", "dropped": ["c"]}}'
    assert renames_of(text) == {"silver_s.o": Renaming((("a", "b"),), "7", ("c",))}
    of_before = '{"silver_s.o": {"columns": [], "position": ""}}'
    assert renames_of(of_before)["silver_s.o"].dropped == ()
