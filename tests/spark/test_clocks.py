"""Clocks that are wrong, machines in other time zones: no order and no value depends on them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession

from infra.spark import spark_environment
from lakehouse.config import Settings, parse_source
from lakehouse.plan import records
from lakehouse.spark.control import lease_asking
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps.maintain import maintain
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import laws_hold, open_runs
from tests.support.sampling import EVERY_CASE

ROOT = Path(__file__).resolve().parents[2]
# Behind, ahead, and right again, each seen from the run before.
WRONG = (timedelta(days=-2), timedelta(days=2), timedelta(0)) if EVERY_CASE else (timedelta(-2),)
# Half an hour beside the full ones, and a day that begins before UTC's.
ZONE = "Asia/Kolkata"


@contextmanager
def clock_wrong_by(shift: timedelta) -> Iterator[None]:
    """Every module of the library reads a clock that is wrong, the lease's too."""

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + shift

    clock = SimpleNamespace(
        time=lambda: time.time() + shift.total_seconds(),
        monotonic=time.monotonic,
        sleep=time.sleep,
    )
    with pytest.MonkeyPatch.context() as patched:
        for name, module in tuple(sys.modules.items()):
            # Of records it is the type of a column.
            is_ours = name.startswith("lakehouse.") and name != records.__name__
            if is_ours and getattr(module, "datetime", None) is datetime:
                patched.setattr(module, "datetime", Wrong)
        patched.setattr(lease_asking, "time", clock)
        yield


def test_runs_under_wrong_clocks_follow_the_source(
    spark: SparkSession, settings: Settings, tmp_path: Path
):
    runs = open_runs(spark, settings, tmp_path, "wrong_clocks")
    pg = Postgres(runs.source.name)
    table = Table("orders", [column("id", "int32", optional=False), column("note", "string")])
    pg.snapshot(table, [{"id": 1, "note": "first"}, {"id": 2, "note": "stays"}])
    runs.run(pg)
    cuts = [runs.ledger.newest_cut(runs.source.name)]
    for number, shift in enumerate(WRONG):
        note = f"run {number}"
        pg.transact(
            (table, "u", None, {"id": 1, "note": note}),
            (table, "c", None, {"id": 10 + number, "note": note}),
        )
        # The source's own clock goes back as well.
        pg.clock_ms -= 3_600_000
        with clock_wrong_by(shift):
            outcomes = runs.run(pg)
            maintain(runs.context(), datetime.now(UTC) + shift)
        assert [each.status for each in outcomes.values()] == ["succeeded"] * 5
        assert laws_hold(outcomes["apply"])
        assert runs.rows("orders", "id", "note")[:2] == [(1, note), (2, "stays")]
        cuts.append(runs.ledger.newest_cut(runs.source.name))
    ids = [cut.cut_id for cut in cuts if cut]
    assert ids == sorted(set(ids))
    assert len(ids) == 1 + len(WRONG)
    assert len(runs.rows("orders", "id")) == 2 + len(WRONG)


@pytest.mark.further
def test_values_are_the_same_in_another_time_zone(tmp_path: Path):
    name = "elsewhere"
    pg = Postgres(name)
    kinds = "MicroTimestamp", "ZonedTimestamp", "Date"
    stamp, zoned, day = ({"name": f"io.debezium.time.{kind}"} for kind in kinds)
    table = Table(
        "orders",
        [
            column("id", "int32", optional=False),
            column("at", "int64", **stamp),
            column("zoned", "string", **zoned),
            column("day", "int32", **day),
        ],
    )
    # A quarter to midnight in UTC is the next day in the other zone.
    moment = datetime(2024, 3, 30, 23, 45, 0, 1, tzinfo=UTC)
    row = {
        "id": 1,
        "at": int(moment.timestamp()) * 1_000_000 + 1,
        "zoned": "2024-03-31T01:45:00.000001+02:00",
        "day": (moment.date() - date(1970, 1, 1)).days,
    }
    pg.snapshot(table, [row])
    home = tmp_path / "home"
    config = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n', name)
    archive = pg.archive(tmp_path / "topics")
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(home)})
    environment = {**os.environ, **spark_environment(home), "TZ": ZONE, "LAKEHOUSE_HOME": str(home)}
    environment["PYTHONPATH"] = os.pathsep.join((str(ROOT / "jobs"), str(ROOT)))
    command = [sys.executable, "-m", "tests.support.application", config.model_dump_json()]
    ended = subprocess.run(
        [*command, str(archive)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    silver = Ledger(settings).catalog.load_table(f"silver_{name}.public__orders")
    [found] = silver.scan().to_arrow().to_pylist()
    assert found["at"] == moment.replace(tzinfo=None)
    assert found["zoned"] == moment
    assert found["day"] == moment.date()
    run = Ledger(settings).newest_run(name, "publish")
    assert run is not None
    assert abs(run.ended_at - datetime.now(UTC)) < timedelta(minutes=10)
