"""What a person decides about a held table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.config import parse_source
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.errors import ConfigError
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, SCHEMA_VERSIONS, SchemaVersionRow
from lakehouse.plan.schemas.renames import Renames
from lakehouse.quality.schemas.column_lives import column_renames, every_table
from lakehouse.quality.schemas.decisions import Decision, decide
from lakehouse.quality.schemas.judging import judge_versions
from lakehouse.quality.schemas.version_rows import ddl_rows
from lakehouse.quality.schemas.versions import Version, holds, keeping
from lakehouse.spark.control.ledger import Ledger
from tests.unit.test_quality_ddl import ID as SQL_ID
from tests.unit.test_quality_ddl import change, event
from tests.unit.test_quality_versions import ID, NAME, ORDERS, QTY, column, recorded, version

NOW = datetime(2026, 11, 22, tzinfo=UTC)
CAREFUL = SchemaChangesConfig(require_approval=("add_column",))


def held(*versions: Version) -> list[SchemaVersionRow]:
    rows = recorded(*judge_versions(versions, (), CAREFUL))
    return [replace(row, recorded_at=NOW) for row in rows]


def decided(rows: list[SchemaVersionRow], *, is_approved: bool = True) -> SchemaVersionRow:
    decision = Decision("public.orders", "ann", NOW, is_approved=is_approved)
    (row,) = decide(rows, "postgresql", CAREFUL, decision)
    return row


FIRST = version(1, ID, QTY)
ADDED = version(2, ID, QTY, NAME)
RETYPED = version(2, ID, column("qty", "string"))


@pytest.mark.parametrize(("second", "verdict"), [(ADDED, EVOLVE), (RETYPED, KEEP)])
def test_an_approved_change_is_followed_as_far_as_values_fit(second, verdict):
    rows = held(FIRST, second)
    row = decided(rows)

    assert (row.verdict, row.decision, row.fingerprint) == (verdict, "ann", "2")
    assert row.reason.startswith("ann approved it")
    assert holds([*rows, row]) == {}
    assert (ORDERS in keeping([*rows, row])) is (verdict == KEEP)
    (again,) = judge_versions((second,), [*rows, row], CAREFUL)
    assert (again.verdict, again.is_new) == (verdict, False)


def test_a_rejected_change_stays_held_whatever_the_mode():
    rows = held(FIRST, RETYPED)
    row = decided(rows, is_approved=False)

    assert row.verdict == HOLD
    assert row.reason.startswith("rejected by ann: silver cannot follow: change_type")
    (again,) = judge_versions((RETYPED,), [*rows, row], SchemaChangesConfig(mode="try_evolve"))
    assert (again.verdict, again.is_new) == (HOLD, False)
    assert decided([*rows, row]).verdict == KEEP


def test_a_changed_key_is_no_matter_of_approval():
    with pytest.raises(ConfigError, match="primary_key"):
        decided(held(FIRST, version(2, ID, QTY, key=("id", "qty"))))


def test_only_a_held_table_is_decided_about():
    with pytest.raises(ConfigError, match="expected one that is held: none is"):
        decided(held(FIRST))
    with pytest.raises(ConfigError, match=r"expected one that is held: public\.orders"):
        decide(held(FIRST, ADDED), "postgresql", CAREFUL, Decision("public.other", "ann", NOW))


AMOUNT = column("amount", "bigint")
RENAMED = version(2, ID, AMOUNT)
RENAME = ("qty", "amount")


def mapped(
    rows: list[SchemaVersionRow], *renames: tuple[str, str], config: SchemaChangesConfig = CAREFUL
) -> tuple[SchemaVersionRow, ...]:
    decision = Decision("public.orders", "ann", NOW, renames=renames)
    return decide(rows, "postgresql", config, decision)


def test_a_held_table_says_which_column_may_have_been_renamed():
    assert held(FIRST, version(2, ID, column("amount", "int")))[1].reason.endswith(
        "column 'qty' may have become 'amount': if so, add `--rename qty=amount`"
    )


def test_a_person_may_say_that_a_column_was_renamed():
    rows = held(FIRST, RENAMED)
    (row,) = mapped(rows, RENAME)

    assert (row.verdict, row.change_kinds) == (EVOLVE, ("rename_column", "widen_type"))
    assert holds([*rows, row]) == {}
    (rename,) = column_renames([*rows, row], "postgresql", every_table)["public", "orders"]
    stored = Renames((rename,)).stored_names(("id", "amount"), rename.position, ("id", "qty"))
    assert stored == {"id": "id", "amount": "qty"}
    (again,) = judge_versions((RENAMED,), [*rows, row], CAREFUL)
    assert (again.verdict, again.is_new) == (EVOLVE, False)


WRONG = {
    "one that went": (RENAMED, ("id", "amount"), CAREFUL, r"a column that went \(qty\)"),
    "one that came": (RENAMED, ("qty", "id"), CAREFUL, r"one that came \(amount\)"),
    "a type that fits": (version(2, ID, NAME), ("qty", "name"), CAREFUL, "it is int , and comes"),
    "a mode that renames": (
        RENAMED,
        RENAME,
        SchemaChangesConfig(mode="lenient"),
        "it is 'lenient'",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_rename_needs(case):
    second, rename, config, message = WRONG[case]
    with pytest.raises(ConfigError, match=message):
        mapped(held(FIRST, second), rename, config=config)


def test_a_table_that_went_on_has_both_columns():
    with pytest.raises(ConfigError, match="one that went on has both columns"):
        mapped(recorded(*judge_versions((FIRST, RENAMED), (), SchemaChangesConfig())), RENAME)


SHOP = parse_source(
    'connector = "mysql"\ntopic_prefix = "shop"\n'
    '[schema_changes]\nrequire_approval = ["comment"]\n',
    "shop",
)


def test_a_statement_is_decided_about_before_a_row_has_come():
    wider = change("ALTER", {**SQL_ID, "comment": "the number"})
    told = ddl_rows(SHOP, "run", (event(1, change("CREATE", SQL_ID)), event(2, wider)), ())
    decision = Decision("shop.orders", "ann", NOW)

    assert [row.verdict for row in told] == [EVOLVE, HOLD]
    (row,) = decide(told, "mysql", SHOP.schema_changes, decision)
    assert (row.verdict, row.change_kinds, row.position) == (EVOLVE, ("comment",), "0000000002")
    with pytest.raises(ConfigError, match="expected one that is held: none is"):
        decide([*told, row], "mysql", SHOP.schema_changes, decision)


def approve(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["approve", "--source", "shop", *arguments])


def test_the_command_decides_and_says_what_is_next(ledger: Ledger):
    ledger.append(SCHEMA_VERSIONS, [replace(row, source="shop") for row in held(FIRST, ADDED)])
    rejected = approve("--table", "public.orders", "--by", "ann", "--reject")
    approved = approve("--table", "public.orders", "--by", "bob")
    again = approve("--table", "public.orders")

    assert (rejected.exit_code, approved.exit_code) == (0, 0)
    assert "rejected by ann: needs approval: add_column" in rejected.output
    assert "bob approved it" in approved.output
    assert "lakehouse run --source shop" in approved.output
    assert "expected one that is held: none is" in str(again.exception)
    assert "expected OLD=NEW" in str(approve("--table", "public.orders", "--rename", "a").exception)
    decisions = [row.decision for row in ledger.schema_versions("shop")]
    assert decisions == ["policy", "policy", "ann", "bob"]


@pytest.mark.usefixtures("ledger")
def test_before_the_first_run_nothing_is_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "elsewhere"))

    assert "expected one that a run has made" in str(approve("--table", "a.b").exception)
