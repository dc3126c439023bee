"""Which tables are compacted, told from the summary of their newest snapshot."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from lakehouse.plan.upkeep.compacting import (
    BRONZE,
    SILVER,
    Figures,
    Maintained,
    control_layout,
    ended_days,
    figures_of,
    needs_compaction,
)

MIB = 1024**2


@pytest.mark.parametrize(
    ("files", "size", "deletes", "deleted", "needed"),
    [
        (0, 0, 0, 0, False),
        (1, 1, 0, 0, False),
        (5, 5 * MIB, 0, 0, False),
        (6, 5 * MIB, 0, 0, True),
        (10, 5120 * MIB, 0, 0, False),
        (15, 5120 * MIB, 0, 0, True),
        (1, 100 * MIB, 1, 50, False),
        (1, 100 * MIB, 1, 51, True),
    ],
)
def test_a_table_is_compacted_for_many_small_files_or_many_deleted_rows(
    files, size, deletes, deleted, needed
):
    figures = Figures(files, deletes, size, 1000, deleted)
    assert needs_compaction(figures, SILVER) is needed


def test_files_of_a_control_table_are_small_and_in_the_order_of_time():
    layout = control_layout("ended_at")
    assert (layout.order, layout.options["target-file-size-bytes"]) == (
        ("ended_at",),
        str(8 * MIB),
    )
    assert needs_compaction(Figures(files=12, size=48 * MIB), layout)
    assert not needs_compaction(Figures(files=10, size=48 * MIB), layout)


def test_bronze_stays_clustered_by_topic_partition_and_offset():
    assert BRONZE.order == ("topic", "partition", "offset")
    assert int(BRONZE.options["max-file-size-bytes"]) > 4 * 1024**3


def test_figures_are_those_of_iceberg_s_summary():
    summary = {
        "total-data-files": "3",
        "total-delete-files": "2",
        "total-files-size": "700",
        "total-records": "40",
        "total-position-deletes": "4",
    }
    assert figures_of(summary, 9) == Figures(3, 2, 700, 40, 4, 9)
    assert figures_of({}, 0) == Figures()
    assert Figures(1, 2, 3, 4, 5, 6) + Figures(1, 1, 1, 1, 1, 1) == Figures(2, 3, 4, 5, 6, 7)


def test_a_day_ends_at_midnight_utc():
    now = datetime(2026, 11, 23, 1, 30, tzinfo=timezone(timedelta(hours=5)))
    assert ended_days(now) == datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    "done",
    [
        Maintained("bronze.shop", Figures(9, 0, 5), Figures(1, 0, 4), 8, notes=("a note",)),
        Maintained("bronze.shop", Figures(9), error="a reason"),
    ],
)
def test_what_was_done_is_read_from_the_row_of_the_run(done):
    assert Maintained.from_detail(json.loads(json.dumps(done.to_detail()))) == done
