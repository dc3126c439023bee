"""Row options that cannot be kept hold their table, with the reason."""

from __future__ import annotations

from dataclasses import replace

from lakehouse.config.table_sections import ColumnConfig, TableConfig
from lakehouse.plan.batches.batch import TableRules
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.options import OptionFacts, with_options
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from tests.unit.test_table_key import group, plan

PLACE = ("s.public.orders", 0)


def masks(**given: str) -> TableConfig:
    return TableConfig(columns={name: ColumnConfig(mask=mask) for name, mask in given.items()})


def apply_options(
    planned: TablePlan,
    groups: list[Group],
    options: TableConfig,
    docs: dict[str, str],
    fingerprint: str,
    *schemas: RowSchema,
) -> TablePlan:
    return with_options(planned, groups, schemas, options, OptionFacts(docs, fingerprint))


def test_options_are_off_by_default():
    found = apply_options(plan(group('["a"]')), [group('["a"]')], TableConfig(), {}, "")
    assert (found.soft, found.history, found.hold) == (False, False, "")


def test_options_come_from_the_toml_file():
    options = TableConfig(delete="soft", history=True)
    found = apply_options(plan(group('["a"]')), [group('["a"]')], options, {}, "")
    assert (found.soft, found.history, found.hold) == (True, True, "")


def test_deleted_rows_and_history_need_a_key():
    for options in (TableConfig(delete="soft"), TableConfig(history=True)):
        found = apply_options(plan(group("[]")), [group("[]", offset=3)], options, {}, "")
        assert "needs a key" in found.hold
        assert (found.versions, found.limits) == ((), {PLACE: 3})


def test_a_column_of_the_event_key_is_only_hashed():
    groups = [group('["a","b"]')]
    for mask in ("drop", "redact"):
        found = apply_options(plan(*groups), groups, masks(B=mask), {}, "")
        assert "part of the key" in found.hold
        assert "columns.B.mask = 'hash'" in found.hold
    assert apply_options(plan(*groups), groups, masks(b="hash"), {}, "f").hold == ""


def test_an_event_key_that_the_toml_file_replaces_may_be_dropped():
    replaced = plan(group('["a"]'), rules=TableRules(("c",)))
    assert apply_options(replaced, [group('["a"]')], masks(a="drop"), {}, "").hold == ""
    assert "part of the key" in apply_options(replaced, [], masks(c="drop"), {}, "").hold


def test_a_mask_that_hides_nothing_is_a_finding():
    groups, wanted = [group('["a"]')], masks(cadr="drop", b="drop")

    def notes(docs: dict[str, str], *schemas: RowSchema) -> tuple[str, ...]:
        return apply_options(plan(*groups), groups, wanted, docs, "", *schemas).notes

    (note,) = notes({}, RowSchema(unused_masks=("cadr", "b")), RowSchema(unused_masks=("cadr",)))
    assert "'cadr' hides nothing" in note
    assert notes({}, RowSchema()) == notes({}) == ()


def test_a_mistyped_mask_lets_no_table_begin_unmasked():
    groups, wanted = [group('["a"]')], masks(cadr="drop")
    sent = RowSchema((Column("CARD", ValueType(Kind.CAST, "string"), optional=True),))
    sent = replace(sent, unused_masks=("cadr",))

    def found(options: TableConfig, docs: dict[str, str]) -> TablePlan:
        return apply_options(plan(*groups), groups, options, docs, "", sent)

    first = found(wanted, {})
    assert "'cadr' hides nothing" in first.hold
    assert "did you mean 'CARD'? Its values would be published as they are" in first.hold
    later = found(wanted, {"CARD": ""})
    assert (later.hold, len(later.notes)) == ("", 1)
    assert later.notes[0].endswith("did you mean 'CARD'?")
    # One that has a mask of its own is not meant; a mask may wait for its column.
    assert found(masks(cadr="drop", card="hash"), {}).hold == ""


def test_a_mask_under_the_name_that_a_column_had_before_is_no_finding():
    groups, wanted = [group('["a"]')], masks(cadr="drop")
    facts, schemas = OptionFacts(former={"cadr"}), [RowSchema(unused_masks=("cadr",))]
    assert with_options(plan(*groups), groups, schemas, wanted, facts).notes == ()


def test_values_of_two_masks_are_never_mixed():
    hashed = {"a": "masked: keyed hash, key f1", "b": "time of day in microseconds"}
    stored = plan(group('["c"]'), stored=("c",))

    def held(options: TableConfig, fingerprint: str = "f1") -> str:
        return apply_options(stored, [group('["c"]')], options, hashed, fingerprint).hold

    assert held(masks(a="hash")) == ""
    assert "key f2" in held(masks(a="hash"), "f2")
    assert "'not masked' is wanted now" in held(TableConfig())
    assert "masked: redacted" in held(masks(a="redact"))
    for mask in ("drop", "redact", "hash"):
        assert "'b' is stored as 'not masked'" in held(masks(a="hash", b=mask))


def test_marked_rows_are_never_read_as_live_ones():
    groups, facts = [group('["a"]')], OptionFacts(stored_soft=True)
    held = with_options(plan(*groups), groups, (), TableConfig(), facts)
    assert "has left marked rows in silver, and 'hard' is wanted now" in held.hold
    soft = with_options(plan(*groups), groups, (), TableConfig(delete="soft"), facts)
    assert (soft.soft, soft.hold) == (True, "")
