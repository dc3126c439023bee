"""Backfills: the rows that an interval touches, made again from bronze."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.remaking.backfilling import Interval
from tests.support.backfills import backfill, between, by_key, keys_between
from tests.support.rebuilds import TOML, contents, rebuild, run_in_batches, spoil, tell
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

ORDERS = "silver_SOURCE.public__orders"


def open_source(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Runs:
    return Runs(spark, settings, folder, parse_source(TOML.format(name=name), name))


def said(outcomes) -> list[str]:
    return [f"{outcome.status}: {outcome.message}" for outcome in outcomes.values()]


def test_a_backfill_heals_the_rows_that_its_interval_touches_and_no_others(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs = open_source(spark, settings, tmp_path, "filled")
    pg, ends = tell("filled", 12)
    run_in_batches(runs, pg, [ends[5], ends[-1]])
    running = contents(runs)
    for start, end in itertools.pairwise([0, *ends]) if EVERY_CASE else ():
        # Large values that stayed as they were come from rows that the interval does not name.
        same = backfill(runs, between(pg, start, end))
        assert "none differ" in same["apply"].message, said(same)
    spoil(runs)
    spoilt = contents(runs)
    first, behind = ends[7], ends[9]
    keys = keys_between(pg, "orders", first, behind)

    done = backfill(runs, between(pg, first, behind), "public.orders")

    assert [each.status for each in done.values()] == ["succeeded"] * 3, said(done)
    found = contents(runs)
    assert by_key(found[ORDERS], keys, inside=True) == by_key(running[ORDERS], keys, inside=True)
    assert by_key(found[ORDERS], keys, inside=False) == by_key(spoilt[ORDERS], keys, inside=False)
    assert by_key(spoilt[ORDERS], keys, inside=True) != by_key(running[ORDERS], keys, inside=True)
    others = {name for name in spoilt if not name.startswith(ORDERS)}
    assert {name: found[name] for name in others} == {name: spoilt[name] for name in others}
    rows = {json.loads(line)["id"] for line in (*running[ORDERS], *spoilt[ORDERS])} & keys
    assert f"{len(rows)} rows of 1 tables derived again" in done["apply"].message

    if EVERY_CASE:
        again = backfill(runs, between(pg, first, behind), "public.orders")
        assert list(again) == ["apply"], said(again)
        assert "none differ" in again["apply"].message
        assert contents(runs) == found
        assert list(rebuild(runs, "public.orders", undo=True)) == ["apply", "validate", "publish"]
        assert contents(runs) == spoilt
        # All of it: a truncate and rows without a key are made again as a whole.
        whole = backfill(runs, between(pg, 0, len(pg.messages)))
        assert [each.status for each in whole.values()] == ["succeeded"] * 3, said(whole)
        assert contents(runs) == running
        done = whole
    assert laws_hold(replace(done["apply"], counts=laws(done["apply"].counts)))

    nothing = backfill(
        runs, Interval(datetime(2001, 1, 1, tzinfo=UTC), datetime(2001, 1, 2, tzinfo=UTC))
    )
    assert nothing["apply"].status == "succeeded"
    assert nothing["apply"].message == (
        "nothing to derive again: neither Kafka nor bronze has a change from 2001-01-01T00:00:00Z "
        "until 2001-01-02T00:00:00Z; the first message is of 2023-11-14T22:13:20Z, the newest of "
        "2023-11-14T22:13:20Z"
    )


def laws(counts):
    return {name: law for name, law in counts.items() if name.endswith("]")}


def test_an_interval_whose_messages_are_gone_fails_and_names_their_offsets(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs = open_source(spark, settings, tmp_path, "filled_late")
    pg, _ = tell("filled_late", 2)
    topic = "filled_late.public.bags"
    late = [m for m in pg.messages if m["topic"] != topic or int(str(m["offset"])) > 0]
    assert {o.status for o in runs.run(replace(pg, messages=late)).values()} == {"succeeded"}

    lost = backfill(runs, between(pg, 0, len(pg.messages)))

    assert lost["apply"].status == "failed"
    assert f"offsets {topic}[0] 0 to 0: " in lost["apply"].message
    # What was sent behind them is there.
    newest = between(pg, len(pg.messages) - 2, len(pg.messages))
    assert "none differ" in backfill(runs, newest)["apply"].message
