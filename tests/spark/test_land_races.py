"""Two landings, compactions, expiry and kills: every offset is in bronze exactly once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from infra.spark import spark_environment
from lakehouse.config import parse_source
from lakehouse.errors import LandingRefused, MainMoved
from lakehouse.plan.records import RUNS
from lakehouse.plan.submission import Run, application, arguments
from lakehouse.plan.topics.archive import ArchiveFile, archive_topic_id
from lakehouse.plan.topics.landing import LandingPlan
from lakehouse.plan.topics.offsets import LandedOffsets, OffsetRange, TopicProgress, batch_id
from lakehouse.spark.branches import fast_forward
from lakehouse.spark.bronze.landed_counts import PartitionCount
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.spark.landing.archive import open_archive
from lakehouse.spark.landing.land import Landed, land, verify
from lakehouse.steps.context import StepContext
from lakehouse.steps.land import archive_landing
from lakehouse.steps.runner import execute
from tests.support.archives import Message, bronze_messages, write_archive

TOML = 'connector = "postgresql"\ntopic_prefix = "shop"'
TOPIC = "shop.public.orders"
DEADLINE_S = 280


def numbered(*offsets: int) -> list[Message]:
    return [Message(TOPIC, at % 2, at, value=b'{"n":%d}' % at) for at in offsets]


class Racer:
    """Lands archives into one source, with something done between staging and publishing."""

    def __init__(self, spark, settings, name: str, folder: Path) -> None:
        self.spark, self.settings, self.folder = spark, settings, folder
        self.source = parse_source(TOML, name)
        self.ledger = Ledger(settings)
        self.bronze = Bronze(name, self.ledger)

    def archive(self, messages: list[Message]) -> Path:
        return write_archive(self.folder / str(len(list(self.folder.iterdir()))), messages)

    def context(self, folder: Path, run_id: str = "test") -> StepContext:
        started = datetime(2026, 1, 1, tzinfo=UTC)
        return StepContext(
            self.source,
            self.settings,
            self.spark,
            self.ledger,
            run_id,
            started,
            archive=folder,
        )

    def land(
        self, messages: list[Message], between: Callable[[int], None] = lambda _: None, **options
    ) -> Landed:
        """Land; `between` gets the number of the try, after it is staged."""
        folder, tries = self.archive(messages), iter(range(1, 100))
        files = [ArchiveFile(TOPIC, folder / f"{TOPIC}.jsonl")]
        with open_archive(self.spark, files, self.folder) as opened:
            landing = archive_landing(self.context(folder), self.bronze, opened)
            interrupted = replace(landing, check=lambda *_: between(next(tries)), **options)
            return land(self.spark, self.bronze, interrupted)

    def compact(self) -> None:
        self.spark.sql(
            f"CALL lakehouse.system.rewrite_data_files(table => '{self.bronze.table}', "
            "options => map('rewrite-all', 'true'))"
        ).collect()

    def expire(self) -> None:
        self.spark.sql(
            f"CALL lakehouse.system.expire_snapshots(table => '{self.bronze.table}', "
            "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1)"
        ).collect()

    def messages(self) -> list[Message]:
        return bronze_messages(self.bronze.messages(self.spark))

    def landed(self) -> dict[int, int]:
        return dict(self.bronze.landed(self.spark).topics[TOPIC].next_offsets)

    def refs(self) -> list[str]:
        return sorted(self.ledger.catalog.load_table(self.bronze.table).metadata.refs)


@pytest.fixture
def racer(spark, settings, request, tmp_path) -> Racer:
    name = re.sub(r"\W", "_", request.node.name.lower())[5:60]
    return Racer(spark, settings, name, tmp_path)


def first_time(act: Callable[[], object]) -> Callable[[int], None]:
    return lambda number: act() and None if number == 1 else None


def test_a_landing_that_finds_its_messages_landed_meanwhile_lands_nothing(racer):
    landed = racer.land(numbered(0, 1, 2), first_time(lambda: racer.land(numbered(0, 1, 2))))
    assert (landed.snapshot_id, landed.plan.ranges) == (None, ())
    assert racer.messages() == sorted(numbered(0, 1, 2))
    assert racer.refs() == ["main"]


def test_a_landing_that_finds_a_part_landed_meanwhile_lands_the_rest(racer):
    racer.land(numbered(0, 1))
    landed = racer.land(numbered(2, 3, 4, 5), first_time(lambda: racer.land(numbered(2, 3))))
    assert [(each.start, each.end) for each in landed.plan.ranges] == [(3, 5), (4, 6)]
    assert racer.messages() == sorted(numbered(*range(6)))
    assert racer.landed() == {0: 5, 1: 6}


def test_a_compaction_between_staging_and_publishing_changes_nothing(racer):
    racer.land(numbered(0, 1))
    racer.land(numbered(2, 3), first_time(racer.compact))
    assert racer.messages() == sorted(numbered(0, 1, 2, 3))
    assert racer.landed() == {0: 3, 1: 4}
    assert racer.refs() == ["main"]


def test_landed_offsets_survive_compaction_and_expiry(racer):
    execute("land", racer.context(racer.archive(numbered(0, 1, 2, 3))))
    racer.compact()
    racer.expire()
    assert racer.landed() == {0: 3, 1: 4}
    assert racer.land(numbered(2, 3)).snapshot_id is None
    racer.land(numbered(2, 3, 4, 5))
    assert racer.messages() == sorted(numbered(*range(6)))


def test_a_topic_partition_without_messages_is_remembered_after_expiry(racer):
    topic_id = archive_topic_id(TOPIC, racer.source.name)
    after = {TOPIC: TopicProgress(topic_id, {0: 1, 1: 0, 2: 7})}
    quiet = LandedOffsets({**after, "shop.public.quiet": TopicProgress("id", {0: 3})})
    execute("land", racer.context(racer.archive(numbered(0))))
    row = racer.ledger.newest_run(racer.source.name, "land")
    detail = '{"offsets": ' + quiet.to_json() + "}"
    racer.ledger.append(RUNS, [replace(row, ended_at=datetime.now(UTC), detail=detail)])
    racer.compact()
    racer.expire()
    assert racer.bronze.landed(racer.spark) == quiet


def test_a_lost_answer_of_the_publishing_commit_is_no_failure(racer):
    def publish_and_move_on() -> None:
        staged = next(name for name in racer.refs() if name.startswith("landing_"))
        fast_forward(racer.spark, racer.bronze.table, staged)
        racer.compact()

    landed = racer.land(numbered(0, 1), first_time(publish_and_move_on))
    assert landed.snapshot_id is not None
    assert racer.messages() == sorted(numbered(0, 1))


def test_a_main_that_always_moves_ends_the_landing(racer):
    racer.land(numbered(0))
    with pytest.raises(MainMoved, match="moved 2 times while landing: expected a quiet moment"):
        racer.land(numbered(1), lambda _: racer.compact(), tries=2)
    assert racer.messages() == numbered(0)
    assert racer.refs() == ["main"]


PLAN = [OffsetRange(TOPIC, 0, 10, 20, "id"), OffsetRange(TOPIC, 1, 0, 5, "id")]


@pytest.mark.parametrize(
    "count",
    [
        PartitionCount(TOPIC, 0, 3, 9, 15),
        PartitionCount(TOPIC, 0, 3, 12, 20),
        PartitionCount(TOPIC, 0, 11, 10, 19),
        PartitionCount(TOPIC, 2, 1, 0, 0),
        PartitionCount("other", 0, 1, 10, 10),
    ],
)
def test_messages_outside_the_plan_are_refused(count):
    plan = LandingPlan(tuple(PLAN), LandedOffsets(), batch_id(PLAN))
    verify(plan, (PartitionCount(TOPIC, 0, 10, 10, 19), PartitionCount(TOPIC, 1, 1, 3, 3)))
    with pytest.raises(LandingRefused, match="expected each offset of"):
        verify(plan, (count,))


@contextmanager
def landing_process(racer: Racer, folder: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    """`spark-submit` of the step in a session of its own, with a home of its own."""
    home = racer.folder / name
    home.mkdir()
    environment = {
        **os.environ,
        **spark_environment(home),
        "LAKEHOUSE_HOME": str(home),
        "LAKEHOUSE_CATALOG_URI": racer.settings.catalog_uri,
        "LAKEHOUSE_WAREHOUSE": racer.settings.warehouse,
    }
    given = arguments(racer.source, Run(run_id=name, archive=folder))
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            ["spark-submit", str(application("land")), *given],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def test_two_processes_that_land_the_same_archive_land_every_offset_once(racer):
    messages = numbered(*range(2000))
    folder = racer.archive(messages)
    with (
        landing_process(racer, folder, "one") as one,
        landing_process(racer, folder, "two") as two,
    ):
        assert [one.wait(DEADLINE_S), two.wait(DEADLINE_S)] == [0, 0]
    assert racer.messages() == sorted(messages)
    assert racer.refs() == ["main"]
    counts = [row.counts for row in racer.ledger.runs(racer.source.name)]
    assert sorted('"messages": 2000' in text for text in counts) == [False, True]


def test_a_landing_that_is_killed_while_it_stages_is_done_again(racer):
    racer.land(numbered(0))
    messages = numbered(*range(2000))
    folder = racer.archive(messages)
    deadline = time.monotonic() + DEADLINE_S
    with landing_process(racer, folder, "killed") as process:
        while len(racer.refs()) == 1 and process.poll() is None:
            assert time.monotonic() < deadline
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    execute("land", racer.context(folder))
    assert racer.messages() == sorted(messages)
