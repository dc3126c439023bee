"""A small sample of the soak: the same for every run, on the stack that is up anyway."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from infra.sources import SAMPLE_SOURCES
from lakehouse.config import Settings
from tests.soak.campaign import Campaign, Size
from tests.soak.tables import TYPES, make_tables
from tests.stack.conftest import Stack
from tests.support.sampling import EVERY_CASE, share

SAMPLE = Size(changes=300, rounds=1, round_s=6, runs_between=False)
SEED = 20_261_121
SAMPLED = list(SAMPLE_SOURCES) if EVERY_CASE else ["shop"]


@pytest.mark.parametrize("engine", list(TYPES))
def test_every_type_is_a_column_of_one_of_at_least_twelve_tables(engine):
    tables = make_tables(engine).values()
    columns = [kind for table in tables for kind in table.columns.values()]
    assert len(tables) >= 12
    assert [kind.sql for kind in TYPES[engine] if kind not in columns] == []
    assert len({tuple(sql for _, sql, _ in table.key) for table in tables}) >= 10


def test_silver_equals_the_databases_after_a_sampled_workload_with_a_kill(
    spark,
    settings: Settings,
    stack: Stack,
    monkeypatch: pytest.MonkeyPatch,
    figure: Callable[[str], None],
):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps({"bootstrap.servers": stack.state.kafka}))
    campaign = Campaign(spark, stack.settings, settings, SEED, SAMPLE, suffix="_sampled")
    compared = campaign.run(SAMPLED)
    assert campaign.killer.kills == 1
    assert {name: len(rows) for name, rows in compared.items()} == {
        name: len(side.writer.workload.tables) for name, side in campaign.sides.items()
    }
    assert [
        (name, row.table, row.examples)
        for name, rows in compared.items()
        for row in rows
        if not row.is_equal
    ] == []
    figure(
        f"databases of the sampled workload, seed {SEED}: {share(SAMPLED, list(SAMPLE_SOURCES))}"
    )
