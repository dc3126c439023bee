"""Silver equals the databases after a long random workload, however often Connect is killed.

`SOAK_CHANGES`, `SOAK_KILLS` and `SOAK_SEED` change the size; the figures of a run are printed.
"""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime

import pytest

from tests.soak.campaign import Campaign, Size

CHANGES = int(os.environ.get("SOAK_CHANGES", "20000"))
KILLS = int(os.environ.get("SOAK_KILLS", "12"))
SEED = int(os.environ.get("SOAK_SEED", "4"))
SOURCES = tuple(os.environ.get("SOAK_SOURCES", "inventory shop warehouse").split())


@pytest.mark.timeout(3 * 3600)
def test_silver_equals_the_databases_after_a_long_workload_with_kills(spark, stack_settings):
    begun = time.monotonic()
    print(f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, seed {SEED}, {platform.platform()}, ", end="")
    print(f"{os.cpu_count()} cores")
    size = Size(CHANGES, KILLS, round_s=15)
    campaign = Campaign(
        spark, stack_settings, stack_settings, SEED, size, say=lambda line: show(begun, line)
    )
    compared = campaign.run(SOURCES)
    for name, side in campaign.sides.items():
        writer, law = side.writer, side.product.law
        print(f"{name}: {writer.changes} changes in {writer.transactions.total()} transactions")
        print(f"  {dict(writer.transactions)}, {writer.snapshots} incremental snapshots")
        print(f"  schema changes {writer.workload.schema_changes.counts}; messages {dict(law)}")
        print(f"  {len(side.product.seconds)} runs, {sum(side.product.seconds):.0f} s")
        for row in compared[name]:
            print(f"  {row.table}: {row.source_rows} rows, {row.differences} differences")
            for example in row.examples:
                print(f"    {example}")
        for row in side.product.quarantined()[:20]:
            print(f"  quarantined {row.table} {row.reason} {row.detail} {row.topic} {row.offset}")
    print(f"{campaign.killer.kills} kills, Connect away {campaign.killer.away_s:.0f} s; ", end="")
    print(f"{campaign.cuts} published cuts checked; {time.monotonic() - begun:.0f} s in all")
    assert campaign.killer.kills == KILLS
    assert {name: len(rows) >= 12 for name, rows in compared.items()} == dict.fromkeys(
        SOURCES, True
    )
    different = {
        (name, row.table): row.examples
        for name, rows in compared.items()
        for row in rows
        if not row.is_equal
    }
    assert different == {}
    assert [side.product.quarantined() for side in campaign.sides.values()] == [[]] * len(SOURCES)


def show(begun: float, line: str) -> None:
    print(f"{time.monotonic() - begun:6.0f} s  {line}", flush=True)
