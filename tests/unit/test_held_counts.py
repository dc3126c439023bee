"""How many keys of each table are held: from cut to cut, and in a catalog of before."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from lakehouse.config import Settings
from lakehouse.plan.cuts.handover import StagedTable, held_after
from lakehouse.plan.cuts.published import held_of
from lakehouse.plan.records import CUTS, CutRow
from lakehouse.spark.control.ledger import Ledger

CUT = CutRow(
    source="shop",
    cut_id="1",
    state="published",
    run_id="run",
    recorded_at=datetime(2026, 1, 1, tzinfo=UTC),
    token=1,
    offsets="{}",
    position="",
    transactions=0,
    tables={},
    excluded="{}",
    held_keys=0,
    identities="{}",
    renames="{}",
    moves="[]",
)


def staged(silver: str, held: int) -> StagedTable:
    return StagedTable(
        identity=(None, "public", silver),
        silver=silver,
        state=f"{silver}__state",
        changed=True,
        snapshot=1,
        state_snapshot=1,
        key=("id",),
        cdc="_cdc",
        rows=1,
        upserts=1,
        deletes=0,
        truncated=False,
        held=held,
    )


def test_a_cut_has_the_held_keys_of_what_it_publishes_and_of_the_rest_as_they_were():
    base = replace(CUT, held=json.dumps({"a": 1, "b": 2, "c": 3, "d": 4}))
    after = held_after(
        base, [staged("a", 0), staged("b", 5), staged("e", 1)], {"c": "x__retired_1"}
    )
    assert after == {"b": 5, "d": 4, "e": 1}
    assert held_after(replace(CUT, held=""), [], {}) == {}


def test_a_catalog_of_before_the_counts_can_be_read_and_written(tmp_path):
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))
    ledger.append(CUTS, [CUT])
    with ledger.catalog.load_table(CUTS.name).update_schema() as update:
        update.delete_column("held")
    assert "held" not in ledger.catalog.load_table(CUTS.name).schema().column_names
    assert held_of(ledger.newest_cut("shop")) == {}
    ledger.append(CUTS, [replace(CUT, cut_id="2", held_keys=3, held='{"a": 3}')])
    assert isinstance(ledger.catalog.load_table(CUTS.name).scan().to_arrow(), pa.Table)
    assert held_of(ledger.newest_cut("shop")) == {"a": 3}
