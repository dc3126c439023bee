"""Many small files of control tables become few, whatever else goes on, and no row changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings
from lakehouse.plan.records import CUTS, QUARANTINE, RUNS
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.tidying import tidy
from tests.support.campaign import begin


def files(ledger: Ledger, source: str) -> int:
    scan = ledger.catalog.load_table(RUNS.name).scan(row_filter=f"source = '{source}'")
    return len(list(scan.plan_files()))


@pytest.mark.further
def test_the_rows_of_many_runs_come_together_in_few_files(
    spark: SparkSession, settings: Settings, tmp_path: Path
) -> None:
    campaign, other = (begin(spark, settings, tmp_path, name) for name in ("tidy", "untidy"))
    for _ in range(2):
        campaign.bank.transfer(1)
        campaign.runs.run(campaign.bank.source)
    context, ledger = campaign.context("tidying"), Ledger(settings)
    before, cuts = ledger.runs("tidy"), ledger.cuts("tidy")
    beside = files(ledger, "untidy")
    assert files(ledger, "tidy") == len(before) > 10

    assert tidy(context, most=len(before)) == ()
    context.ledger.runs("tidy")
    assert tidy(context, most=10) == (RUNS.name,)

    assert files(ledger, "tidy") == 1
    assert files(ledger, "untidy") == beside
    assert (ledger.runs("tidy"), ledger.cuts("tidy")) == (before, cuts)
    assert Ledger(settings).runs("tidy") == before
    campaign.finish()
    other.finish()


def test_what_was_not_read_is_not_looked_at(settings: Settings) -> None:
    ledger = Ledger(settings)
    assert [ledger.files(table, "nobody") for table in (RUNS, CUTS, QUARANTINE)] == [0, 0, 0]
    ledger.runs("nobody")
    assert ledger.files(RUNS, "nobody") == 0
