"""A column that the source renames is renamed in silver, wherever the batches are cut."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lakehouse.config import parse_source
from lakehouse.names import silver_namespace
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.tables import full_name
from tests.support.archives import Message, read_archive, write_archive
from tests.support.captures import Capture, expected_rows, stored_rows
from tests.support.runs import Runs

TABLE = "ORCLPDB1.INV.ACCT"


@dataclass(frozen=True)
class Accounts:
    """The recorded Oracle archive in which column V becomes LABEL."""

    runs: Runs
    capture: Capture
    messages: list[Message]

    def land(self, count: int) -> None:
        """Do a run over the messages that had arrived first."""
        archive = write_archive(self.runs.folder / f"first_{count}", self.messages[:count])
        outcomes = self.runs.steps(archive)
        assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}

    @property
    def table(self):
        return self.runs.spark.table(
            full_name(f"{silver_namespace(self.runs.source.name)}.inv__acct")
        )

    def index(self, text: bytes) -> int:
        """How many messages arrived up to the first one of the public topics with a text."""
        return next(
            number
            for number, message in enumerate(self.messages, 1)
            if text in (message.value or b"") and not message.topic.startswith("schemahistory")
        )


@pytest.fixture
def accounts(spark, settings, captures, tmp_path):
    capture = Capture("oracle", captures / "oracle" / "ddl_add_drop_rename_widen")

    def opened(name: str) -> Accounts:
        messages = read_archive(capture.folder)
        messages.sort(key=lambda message: (message.timestamp_ms, message.offset))
        runs = Runs(spark, settings, tmp_path, parse_source(capture.toml, name))
        return Accounts(runs, capture, messages)

    return opened


def test_a_renamed_column_keeps_its_field_and_its_rows_through_many_batches(accounts):
    case = accounts("renamed_in_batches")
    renamed = case.index(b"RENAME COLUMN")
    case.land(renamed - 1)
    before = field_id(case)
    assert "V" in case.table.columns

    case.land(renamed)
    assert "LABEL" in case.table.columns, "a rename alone is followed, without a change of a row"
    assert field_id(case) == before
    assert "LABEL" in published_columns(case), "a reader of the cut sees the new name, too"
    case.land(len(case.messages))

    expected = case.capture.expected["tables"][TABLE]
    docs = {field.name: field.metadata.get("comment", "") for field in case.table.schema.fields}
    assert stored_rows(case.table.toArrow(), docs, expected) == expected_rows(expected)
    assert "V" not in case.table.columns
    assert field_id(case) == before


@pytest.mark.further
def test_a_rename_and_the_rows_behind_it_may_come_in_one_batch(accounts):
    case = accounts("renamed_at_once")
    case.land(case.index(b"RENAME COLUMN") - 1)
    case.land(len(case.messages))
    assert "LABEL" in published_columns(case)

    expected = case.capture.expected["tables"][TABLE]
    docs = {field.name: field.metadata.get("comment", "") for field in case.table.schema.fields}
    assert stored_rows(case.table.toArrow(), docs, expected) == expected_rows(expected)


def published_columns(case: Accounts) -> list[str]:
    """The columns of the newest cut's snapshot."""
    name = f"{silver_namespace(case.runs.source.name)}.inv__acct"
    ledger = Ledger(case.runs.settings)
    cut = ledger.newest_cut(case.runs.source.name)
    assert cut is not None
    scan = ledger.catalog.load_table(name).scan(snapshot_id=cut.tables[name])
    return scan.to_arrow().column_names


def field_id(case: Accounts) -> int:
    """Iceberg's id of the column under either name."""
    name = f"{silver_namespace(case.runs.source.name)}.inv__acct"
    schema = Ledger(case.runs.settings).catalog.load_table(name).schema()
    return next(field.field_id for field in schema.fields if field.name in ("V", "LABEL"))
