"""What identifies a row of a table, and when a table has to wait because that changed."""

from __future__ import annotations

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.progress import Progress
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from tests.support.groups import group_of

ORDERS = TableIdentity("app", "public", "orders")
COLUMNS = tuple(Column(name, ValueType(Kind.CAST, "int"), optional=True) for name in "abc")


def group(key_fields: str | None, *, fingerprint: int = 1, rows: int = 1, offset: int = 0) -> Group:
    return group_of(
        topic="s.public.orders",
        identity=ORDERS,
        collection="public.orders",
        fingerprint=fingerprint,
        key_fields=key_fields,
        rows=rows,
        first_offset=offset,
        truncate=None if rows else "9",
    )


def plan(
    *groups: Group, stored: tuple[str, ...] | None = None, rules: TableRules | None = None
) -> TablePlan:
    known = {} if stored is None else dict.fromkeys("abc", "int")
    facts = TableFacts("silver_s.public__orders", known, Progress(), {}, stored)
    schemas = {each.fingerprint: RowSchema(COLUMNS) for each in groups if each.fingerprint}
    return plan_table(ORDERS, groups, schemas, facts, rules or TableRules())


def test_the_event_key_names_a_row_in_the_order_of_the_columns():
    assert plan(group('["b","a"]')).key == ("a", "b")


def test_a_table_whose_events_have_no_key_is_a_bag():
    for fields in (None, "[]"):
        found = plan(group(fields))
        assert (found.key, found.is_bag, found.halves, found.hold) == ((), True, True, "")


def test_one_event_without_a_key_does_not_make_a_bag():
    for groups in ((group('["a"]'), group(None)), (group(None), group('["a"]'))):
        found = plan(*groups)
        assert (found.key, found.halves, found.hold) == (("a",), False, "")


def test_a_truncate_has_no_key_and_says_nothing():
    assert plan(group(None, rows=0), stored=("a",)).key == ("a",)
    assert plan(group(None, rows=0), group('["a"]', offset=1)).key == ("a",)


def test_a_table_of_which_only_truncates_are_known_is_not_made():
    assert plan(group(None, rows=0)).versions == ()
    assert len(plan(group(None, rows=0), stored=("a",)).versions) == 1


def test_the_order_of_a_stored_key_stays():
    assert plan(group('["a","b"]'), stored=("b", "a")).key == ("b", "a")


def test_another_key_holds_the_table():
    found = plan(group('["a"]'), group('["b"]', fingerprint=2, offset=5))
    assert "('a',) to ('b',)" in found.hold
    assert found.limits == {("s.public.orders", 0): 5}
    assert "('a',) to ('b',)" in plan(group('["b"]'), stored=("a",)).hold
    assert "() to ('b',)" in plan(group('["b"]'), stored=()).hold


def test_two_keys_of_one_schema_hold_the_table():
    assert "changed its fields" in plan(group('["a"]'), group('["b"]', offset=3)).hold


def test_the_key_of_the_toml_file_decides_and_is_read_from_the_row():
    found = plan(group('["a"]'), rules=TableRules(("c",)))
    assert (found.key, found.key_in_row, found.halves, found.hold) == (("c",), True, True, "")
