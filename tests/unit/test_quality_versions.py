"""Schema versions of data events: what is new, what changed, what holds a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.config import parse_source
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.names import TableIdentity
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, POLICY, SchemaVersionRow
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.quality.schemas.statements import Statement, Told
from lakehouse.quality.schemas.version_rows import LandedSchemas, data_rows
from lakehouse.quality.schemas.versions import Judged, Version, batch_versions, holds
from tests.support.groups import group_of

ORDERS = TableIdentity("app", "public", "orders")
SOURCE = parse_source('connector = "postgresql"\ntopic_prefix = "s"\n', "s")
EVOLVING = SchemaChangesConfig()


def column(name: str, spark: str, *, optional: bool = True, doc: str = "") -> Column:
    return Column(name, ValueType(Kind.CAST, spark), optional, doc=doc, semantic=doc)


ID = column("id", "int", optional=False)
NAME = column("name", "string")


def version(fingerprint: int, *columns: Column, key: Sequence[str] = ("id",)) -> Version:
    at = (("s.public.orders", 0, 10 * fingerprint),)
    return Version(ORDERS, fingerprint, columns, tuple(key), at)


def recorded(*judged: Judged) -> list[SchemaVersionRow]:
    landed = LandedSchemas({ORDERS: judged}, {ORDERS: "public__orders"}, (), ())
    return list(data_rows(SOURCE, "run", landed))


def judge(*versions: Version, config: SchemaChangesConfig = EVOLVING) -> tuple[Judged, ...]:
    return judge_versions(versions, (), config)


def test_the_first_version_of_a_table_is_followed() -> None:
    (first,) = judge(version(1, ID, NAME))

    assert (first.kinds, first.verdict, first.is_new) == (("create_table",), EVOLVE, True)


def test_a_version_that_two_runs_record_is_told_alike_by_both() -> None:
    [row] = recorded(*judge(version(1, ID, NAME)))
    [other] = recorded(*judge(version(2, ID, NAME)))
    again = replace(row, run_id="another", recorded_at=row.recorded_at + timedelta(seconds=3))

    assert row.told == again.told
    assert row.told != other.told


CHANGES = {
    "add_column": ((ID, NAME, column("age", "int")), EVOLVE),
    "drop_column": ((ID,), EVOLVE),
    "widen_type": ((column("id", "bigint", optional=False), NAME), EVOLVE),
    "nullability": ((ID, column("name", "string", optional=False)), EVOLVE),
    "reorder_columns": ((NAME, ID), EVOLVE),
    "narrow_type": ((column("id", "smallint", optional=False), NAME), HOLD),
    "change_type": ((ID, column("name", "bigint")), HOLD),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_followed_or_holds_the_table(kind: str) -> None:
    columns, verdict = CHANGES[kind]
    before = column("id", "int", optional=False)
    first = version(1, before, NAME)

    judged = judge(first, version(2, *columns))[1]

    if kind == "narrow_type":
        assert judged.kinds in (("change_type",), ("narrow_type",))
    else:
        assert judged.kinds == (kind,)
    assert judged.verdict == verdict
    assert bool(judged.reason) == (verdict == HOLD)


def test_a_changed_unit_of_time_holds_although_the_type_stays() -> None:
    micros, nanos = column("at", "bigint", doc="microseconds"), column("at", "bigint", doc="nanos")

    assert judge(version(1, ID, micros), version(2, ID, nanos))[1].verdict == HOLD


def test_a_changed_key_holds() -> None:
    judged = judge(version(1, ID, NAME), version(2, ID, NAME, key=("id", "name")))[1]

    assert judged.kinds == ("primary_key",)
    assert judged.reason == "silver cannot follow: primary_key (id → id, name)"


def test_nothing_is_judged_behind_a_hold() -> None:
    versions = (version(1, ID), version(2, column("id", "string")), version(3, ID, NAME))

    assert [judged.verdict for judged in judge(*versions)] == [EVOLVE, HOLD]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (
            SchemaChangesConfig(mode="fail"),
            "mode 'fail' follows no change: add_column (name string)",
        ),
        (
            SchemaChangesConfig(require_approval=("add_column",)),
            "needs approval: add_column (name string)",
        ),
    ],
)
def test_modes_hold_what_evolve_would_follow(config: SchemaChangesConfig, reason: str) -> None:
    judged = judge(version(1, ID), version(2, ID, NAME), config=config)[1]

    assert (judged.verdict, judged.reason) == (HOLD, reason)


QTY = column("qty", "int")
KINDS = {
    "add_column": (ID, QTY, NAME),
    "drop_column": (ID,),
    "widen_type": (ID, column("qty", "bigint")),
    "nullability": (ID, column("qty", "int", optional=False)),
    "reorder_columns": (QTY, ID),
    "narrow_type": (ID, column("qty", "smallint")),
    "change_type": (ID, column("qty", "string")),
    "another unit": (ID, column("qty", "bigint", doc="time of day in milliseconds")),
    "another form": (ID, column("qty", "array<int>")),
    "primary_key": (ID, QTY),
}
ADDED, STAYS = ("add_column", "widen_type"), ("narrow_type", "change_type")
MODES = {
    "evolve": {EVOLVE: {*ADDED, "drop_column", "nullability", "reorder_columns"}},
    "try_evolve": {
        EVOLVE: {*ADDED, "drop_column", "nullability", "reorder_columns"},
        KEEP: {*STAYS},
    },
    "lenient": {
        EVOLVE: {*ADDED, "nullability", "reorder_columns"},
        KEEP: {*STAYS, "drop_column"},
    },
    "ignore": {KEEP: {*ADDED, *STAYS, "drop_column", "nullability", "reorder_columns"}},
    "fail": {},
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_mode_has_a_verdict_for_each_kind_of_change(mode, kind: str) -> None:
    key = ("id", "qty") if kind == "primary_key" else ("id",)
    config = SchemaChangesConfig(mode=mode)
    judged = judge(version(1, ID, QTY), version(2, *KINDS[kind], key=key), config=config)[1]

    wanted = (verdict for verdict, kinds in MODES[mode].items() if kind in kinds)
    assert judged.verdict == next(wanted, HOLD)
    assert bool(judged.reason) == (judged.verdict != EVOLVE)


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_follows_a_new_table(mode) -> None:
    (first,) = judge(version(1, ID, QTY), config=SchemaChangesConfig(mode=mode))

    assert first.verdict == EVOLVE


def test_another_mode_releases_a_held_table() -> None:
    versions = (version(1, ID, QTY), version(2, ID, column("qty", "string")))
    rows = recorded(*judge(*versions))
    (still,) = judge_versions(versions[1:], rows, EVOLVING)
    (freed,) = judge_versions(versions[1:], rows, SchemaChangesConfig(mode="try_evolve"))

    assert (still.verdict, still.is_new) == (HOLD, False)
    assert (freed.verdict, freed.is_new) == (KEEP, True)


def test_a_recorded_version_keeps_its_decision_and_is_compared_with() -> None:
    rows = recorded(*judge(version(1, ID), version(2, ID, NAME)))

    judged = judge_versions(
        (version(2, ID, NAME), version(3, ID, NAME, column("age", "int"))), rows, EVOLVING
    )

    assert [j.is_new for j in judged] == [False, True]
    assert judged[1].kinds == ("add_column",)


COMMENTED = Told((Statement("5", ("comment",), EVOLVE, POLICY),))
FAILING = SchemaChangesConfig(mode="fail")


@pytest.mark.parametrize(("position", "verdict"), [("5", EVOLVE), ("6", HOLD)])
def test_a_statement_is_seen_by_the_events_behind_it_alone(position: str, verdict: str) -> None:
    # SQL Server and Db2 give a statement the position of the last event before it.
    first = replace(version(1, ID), position="4")
    second = replace(version(2, ID), position=position)

    judged = judge_versions((first, second), (), FAILING, COMMENTED)[1]

    assert judged.verdict == verdict


def test_what_a_person_approved_of_a_statement_is_followed_in_any_mode() -> None:
    approved = Told((Statement("5", ("comment",), EVOLVE, "ann"),))
    versions = (replace(version(1, ID), position="4"), replace(version(2, ID), position="6"))

    assert [each.verdict for each in judge_versions(versions, (), FAILING, approved)] == [
        EVOLVE,
        EVOLVE,
    ]


def test_a_version_that_comes_back_is_recorded_again_and_fits_silver() -> None:
    narrow, wide = version(1, ID), version(2, column("id", "bigint", optional=False))
    placed = (replace(narrow, position="1"), replace(wide, position="2"))
    rows = recorded(*judge_versions(placed, (), EVOLVING))

    (back,) = judge_versions((replace(narrow, position="3"),), rows, EVOLVING)
    (old,) = judge_versions((replace(narrow, position="1"),), rows, EVOLVING)

    assert (back.kinds, back.verdict, back.is_new) == (("narrow_type",), EVOLVE, True)
    assert (old.verdict, old.is_new) == (EVOLVE, False)
    (held,) = judge_versions((replace(narrow, position="3"),), rows, FAILING)
    assert (held.verdict, held.is_new) == (HOLD, True)


def test_a_version_may_come_back_in_one_batch() -> None:
    narrow, wide = version(1, ID), version(2, column("id", "bigint", optional=False))
    placed = (narrow, wide, narrow)

    judged = judge_versions(
        tuple(replace(each, position=str(at)) for at, each in enumerate(placed, 1)), (), EVOLVING
    )

    assert [(each.kinds, each.verdict) for each in judged] == [
        (("create_table",), EVOLVE),
        (("widen_type",), EVOLVE),
        (("narrow_type",), EVOLVE),
    ]


def group(fingerprint: int, first: str, last: str, key: str = '["id"]') -> Group:
    return group_of(
        identity=ORDERS,
        fingerprint=fingerprint,
        key_fields=key,
        first_offset=int(first),
        first_position=first,
        last_position=last,
    )


def versions_of(*groups: Group) -> list[tuple[int, str, tuple[str, ...]]]:
    schemas = {ORDERS: {each.fingerprint or 0: RowSchema((ID,)) for each in groups}}
    found = batch_versions({ORDERS: groups}, schemas)[ORDERS]
    return [(each.fingerprint, each.position, each.key) for each in found]


def test_a_version_that_another_one_interrupts_comes_twice() -> None:
    assert versions_of(group(1, "1", "9"), group(2, "4", "6")) == [
        (1, "1", ("id",)),
        (2, "4", ("id",)),
        (1, "9", ("id",)),
    ]


def test_another_key_is_another_version_of_the_same_schema() -> None:
    assert versions_of(group(1, "1", "3"), group(1, "4", "6", '["id","no"]')) == [
        (1, "1", ("id",)),
        (1, "4", ("id", "no")),
    ]


def test_holds_are_read_from_the_newest_row_of_each_version() -> None:
    rows = recorded(*judge(version(1, ID), version(2, column("id", "string"))))
    fields = {name: getattr(rows[1], name) for name in SchemaVersionRow.__dataclass_fields__}
    approved = SchemaVersionRow(**{**fields, "verdict": EVOLVE, "decision": "a person"})

    assert holds(rows) == {ORDERS: {2: rows[1].reason}}
    assert holds([*rows, approved]) == {}


def test_a_row_names_where_the_version_starts() -> None:
    (row,) = recorded(*judge(version(7, ID, NAME)))

    assert (row.topic, row.partition, row.offset) == ("s.public.orders", 0, 70)
    assert json.loads(row.identity) == ["app", "public", "orders"]
    assert [c["name"] for c in json.loads(row.columns) if not c["optional"]] == ["id"]
    assert row.recorded_at <= datetime.now(UTC)


def test_the_values_of_an_enum_change_only_where_both_versions_name_them() -> None:
    def state(allowed: str) -> Column:
        return replace(column("state", "string"), semantic="Enum", allowed=allowed)

    first, second = version(1, ID, state("s,m")), version(2, ID, state("s,m"), column("x", "int"))
    other = version(3, ID, state("s,m,l"), column("x", "int"))
    rows = recorded(*judge(first))
    found = judge_versions((second, other), rows, EVOLVING)
    assert [judged.kinds for judged in found] == [("add_column",), ("enum_values",)]
    older = [
        replace(row, columns=row.columns.replace('"allowed": "s,m"', '"x": 1')) for row in rows
    ]
    assert judge_versions((second,), older, EVOLVING)[0].kinds == ("add_column",)
