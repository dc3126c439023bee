"""Row options that cannot be kept hold their table, with the reason."""

from __future__ import annotations

from lakehouse.config.sections import ColumnConfig, TableConfig
from lakehouse.plan.batch import KeyRules
from lakehouse.plan.options import with_options
from tests.unit.test_table_key import group, plan

PLACE = ("s.public.orders", 0)


def masks(**given: str) -> TableConfig:
    return TableConfig(columns={name: ColumnConfig(mask=mask) for name, mask in given.items()})


def test_options_are_off_by_default():
    found = with_options(plan(group('["a"]')), [group('["a"]')], TableConfig(), {}, "")
    assert (found.soft, found.history, found.hold) == (False, False, "")


def test_options_come_from_the_toml_file():
    options = TableConfig(delete="soft", history=True)
    found = with_options(plan(group('["a"]')), [group('["a"]')], options, {}, "")
    assert (found.soft, found.history, found.hold) == (True, True, "")


def test_deleted_rows_and_history_need_a_key():
    for options in (TableConfig(delete="soft"), TableConfig(history=True)):
        found = with_options(plan(group("[]")), [group("[]", offset=3)], options, {}, "")
        assert "needs a key" in found.hold
        assert (found.versions, found.limits) == ((), {PLACE: 3})


def test_a_column_of_the_event_key_is_only_hashed():
    groups = [group('["a","b"]')]
    for mask in ("drop", "redact"):
        found = with_options(plan(*groups), groups, masks(B=mask), {}, "")
        assert "part of the key" in found.hold
        assert "columns.B.mask = 'hash'" in found.hold
    assert with_options(plan(*groups), groups, masks(b="hash"), {}, "f").hold == ""


def test_an_event_key_that_the_toml_file_replaces_may_be_dropped():
    replaced = plan(group('["a"]'), rules=KeyRules(("c",)))
    assert with_options(replaced, [group('["a"]')], masks(a="drop"), {}, "").hold == ""
    assert "part of the key" in with_options(replaced, [], masks(c="drop"), {}, "").hold


def test_values_of_two_masks_are_never_mixed():
    hashed = {"a": "masked: keyed hash, key f1", "b": "time of day in microseconds"}
    stored = plan(group('["c"]'), stored=("c",))

    def held(options: TableConfig, fingerprint: str = "f1") -> str:
        return with_options(stored, [group('["c"]')], options, hashed, fingerprint).hold

    assert held(masks(a="hash")) == ""
    assert "key f2" in held(masks(a="hash"), "f2")
    assert "'not masked' is wanted now" in held(TableConfig())
    assert "masked: redacted" in held(masks(a="redact"))
    for mask in ("drop", "redact", "hash"):
        assert "'b' is stored as 'not masked'" in held(masks(a="hash", b=mask))
