"""Rebuilds: silver again from bronze, in the place of what is there, and back."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.cuts.published import replaced_of
from lakehouse.plan.remaking.rebuilding import Rebuild
from lakehouse.spark import metadata, tables
from lakehouse.steps.runner import execute
from tests.spark.test_replay import ROWS, VERSIONS, Story, states, versions
from tests.spark.test_replay import tell as quarantine_some
from tests.support.debezium import Postgres
from tests.support.ending_ledger import EndingLedger
from tests.support.rebuilds import (
    TOML,
    WIDER,
    contents,
    rebuild,
    run_in_batches,
    silver,
    spoil,
    tell,
)
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE

TRANSACTIONS = 24


class Death(Exception):
    """Stands for the end of a process."""


def die() -> None:
    raise Death


def open_source(spark: SparkSession, settings: Settings, folder: Path, name: str) -> Runs:
    return Runs(spark, settings, folder, parse_source(TOML.format(name=name), name))


def statuses(outcomes) -> list[str]:
    return [outcome.status for outcome in outcomes.values()]


def test_a_rebuild_equals_the_running_tables_however_they_were_batched(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    found = []
    for way in ("whole", "halves", "inside") if EVERY_CASE else ("inside",):
        runs = open_source(spark, settings, tmp_path, f"again_{way}")
        pg, ends = tell(runs.source.name, TRANSACTIONS)
        whole = pg.mark()
        # The last of them end inside of transactions.
        batches = {"whole": [], "halves": [ends[11]], "inside": [ends[4] - 2, ends[13] - 3]}
        run_in_batches(runs, pg, [*batches[way], whole])
        running = contents(runs)
        assert all(lines for name, lines in running.items() if "orders" in name), running

        equal = rebuild(runs)

        assert list(equal) == ["apply"]
        assert "0 differ, 2 are equal" in equal["apply"].message, equal["apply"].message
        assert contents(runs) == running
        found.append(running)
    assert found[1:] == found[:-1]
    # What a rebuild makes is seen where it takes the place of something else.
    spoil(runs)
    assert contents(runs) != running
    mended = rebuild(runs)
    assert statuses(mended) == ["succeeded"] * 3, [o.message for o in mended.values()]
    assert laws_hold(mended["apply"])
    assert "public__orders: " in mended["apply"].message
    assert contents(runs) == running


def start(
    spark: SparkSession, settings: Settings, folder: Path, name: str
) -> tuple[Runs, Postgres, dict[str, list[str]]]:
    """A source with two published cuts, and what its tables have."""
    runs = open_source(spark, settings, folder, name)
    pg, ends = tell(name, 12)
    run_in_batches(runs, pg, [ends[5], ends[-1]])
    return runs, pg, contents(runs)


@pytest.mark.further
def test_what_is_published_while_a_rebuild_goes_on_is_not_lost(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs, pg, _ = start(spark, settings, tmp_path, "again_beside")
    pg.transact((WIDER, "c", None, {"id": 1, "name": "beside", "big": "b", "n": 1}))
    context = runs.context(pg.archive(tmp_path / "beside"))
    for step in ("land", "check", "apply"):
        assert execute(step, context).status == "succeeded"
    spoil(runs, by_a_cut=True)
    ended: dict[str, object] = {}
    thread = threading.Thread(target=lambda: ended.update(rebuild(runs)))
    thread.start()
    # It has chosen its cut once its branch is there, and then waits for the lease.
    wait_for_branch(runs, thread)

    for step in ("validate", "publish"):
        assert execute(step, context).status == "succeeded"
    thread.join(300)

    assert statuses(ended) == ["succeeded"] * 3, [o.message for o in ended.values()]
    clean = open_source(spark, settings, tmp_path, "again_clean")
    other, _ = tell("again_clean", 12)
    other.transact((WIDER, "c", None, {"id": 1, "name": "beside", "big": "b", "n": 1}))
    run_in_batches(clean, other, [other.mark()])
    assert contents(runs) == contents(clean)


def wait_for_branch(runs: Runs, thread: threading.Thread) -> None:
    for _ in range(600):
        refs = metadata.refs(runs.ledger.catalog, silver(runs, "orders"))
        if any(ref.startswith("rebuild_") for ref in refs):
            return
        assert thread.is_alive()
        time.sleep(0.1)
    pytest.fail("no branch after a minute")


@pytest.mark.further
def test_a_rebuild_is_undone_with_what_was_published_since(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs, pg, running = start(spark, settings, tmp_path, "again_undone")
    spoil(runs)
    spoilt = contents(runs)
    assert statuses(rebuild(runs, "public.orders")) == ["succeeded"] * 3
    halfway = contents(runs)
    orders = [name for name in running if "orders" in name]
    assert {name: halfway[name] for name in orders} == {name: running[name] for name in orders}
    assert halfway["silver_SOURCE.public__bags"] == spoilt["silver_SOURCE.public__bags"]
    pg.transact((WIDER, "c", None, {"id": 1, "name": "since", "big": "b", "n": 1}))
    run_in_batches(runs, pg, [pg.mark()])

    undone = rebuild(runs, undo=True)

    assert statuses(undone) == ["succeeded"] * 3, [o.message for o in undone.values()]
    now, table = contents(runs), "silver_SOURCE.public__orders"
    [added] = set(now[table]) - set(spoilt[table])
    assert '"since"' in added
    assert set(spoilt[table]) - set(now[table]) == set()
    again = rebuild(runs, undo=True)
    assert statuses(again) == ["succeeded"] * 3, [o.message for o in again.values()]
    assert len(contents(runs)[table]) == len(running[table]) + 1


@pytest.mark.further
def test_main_is_replaced_only_where_it_is_as_it_was_compared(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs, _, running = start(spark, settings, tmp_path, "again_moved")
    spoil(runs)
    context = replace(runs.context(), rebuild=Rebuild())
    for step in ("apply", "validate"):
        assert execute(step, context).status == "succeeded"
    spoil(runs)
    moved = contents(runs)

    refused = execute("publish", context)

    assert refused.status == "failed"
    assert "main has other rows since it was compared" in refused.message
    assert contents(runs) == moved
    assert statuses(rebuild(runs)) == ["succeeded"] * 3
    assert contents(runs) == running


@pytest.mark.further
@pytest.mark.parametrize("write", [1, 2])
def test_a_rebuild_that_was_killed_leaves_the_old_rows_or_the_new_and_is_finished(
    spark: SparkSession, settings: Settings, tmp_path: Path, write: int
):
    runs, pg, running = start(spark, settings, tmp_path, f"again_killed_{write}")
    spoil(runs)
    spoilt = contents(runs)
    with pytest.raises(Death):
        rebuild(runs, ledger=EndingLedger(settings, "quality.cuts", write, die))
    assert contents(runs) == spoilt

    # The next run finds the cut announced, and finishes it before it does its own work.
    assert list(set(statuses(runs.run(pg)))) == ["succeeded"]

    assert contents(runs) == running
    cuts = runs.ledger.cuts(runs.source.name)
    [rebuilt] = {cut.cut_id for cut in cuts if replaced_of(cut)}
    refs = metadata.refs(runs.ledger.catalog, silver(runs, "orders"))
    assert f"undo_{rebuilt}" in refs
    assert not [ref for ref in refs if ref.startswith(("rebuild_", "staging_"))]


@pytest.mark.further
def test_what_bronze_has_no_more_is_refused(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs, _, running = start(spark, settings, tmp_path, "again_gone")
    bronze = tables.full_name(f"bronze.{runs.source.name}")
    spark.sql(f"DELETE FROM {bronze} WHERE topic LIKE '%orders' AND offset = 3 AND partition = 0")
    spoil(runs)

    [refused] = rebuild(runs).values()

    assert refused.status == "failed"
    assert "expected the" in refused.message
    assert "read the tables again with an incremental snapshot" in refused.message
    assert contents(runs) != running
    refs = metadata.refs(runs.ledger.catalog, silver(runs, "orders"))
    assert not [ref for ref in refs if ref.startswith("rebuild_")]


@pytest.mark.further
def test_a_rebuild_applies_what_stood_in_quarantine_and_can_be_undone_with_it(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    name = "again_quarantined"
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)
    story = Story(Runs(spark, settings, tmp_path, source), Postgres(name))
    quarantine_some(story.pg)
    story.narrow().run(story.pg)
    runs, before, was = story.wide(), states(story.runs), contents(story.runs)

    outcomes = rebuild(runs)

    assert statuses(outcomes) == ["succeeded"] * 3, [o.message for o in outcomes.values()]
    assert laws_hold(outcomes["apply"])
    assert runs.rows("orders", "id", "n", "note", "big") == ROWS
    # A replay leaves bags out: it cannot tell whether one more of equal rows was applied.
    assert runs.rows("bags", "id", "n") == [(1, 3_000_000_000)]
    assert versions(runs) == VERSIONS
    assert runs.ledger.newest_cut(name).held_keys == 1
    assert states(runs)[("bad_value", "open")] == 1
    assert states(runs)[("bad_value", "replayed")] == 5

    undone = rebuild(runs, undo=True)

    assert statuses(undone) == ["succeeded"] * 3, [o.message for o in undone.values()]
    assert contents(runs) == was
    assert states(runs) == before
    assert runs.ledger.newest_cut(name).held_keys == 3
