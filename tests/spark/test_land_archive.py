"""Topic archives land whole, byte for byte, once; what is broken or differs lands nothing."""

from __future__ import annotations

import gzip
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lakehouse.config import parse_source
from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.records import RUNS
from lakehouse.spark.bronze.table import Bronze
from lakehouse.spark.control.ledger import Ledger
from lakehouse.steps import land
from lakehouse.steps.archive import archive
from lakehouse.steps.context import StepContext
from lakehouse.steps.runner import execute
from tests.support.archives import (
    Message,
    bronze_messages,
    read_archive,
    write_archive,
)

TOML = 'connector = "postgresql"\ntopic_prefix = "shop"'
TOPIC = "shop.public.orders"


class Source:
    """A source of its own, with what tests do to it."""

    def __init__(self, spark, settings, name, toml=TOML):
        self.config = parse_source(toml, name)
        self.spark, self.settings = spark, settings
        self.ledger = Ledger(settings)
        self.bronze = Bronze(name, self.ledger)

    def context(self, folder: Path, until: datetime | None = None) -> StepContext:
        return StepContext(
            source=self.config,
            settings=self.settings,
            spark=self.spark,
            ledger=self.ledger,
            run_id="test",
            run_started=datetime(2026, 1, 1, tzinfo=UTC),
            until=until,
            archive=folder,
        )

    def land(self, folder: Path, until: datetime | None = None):
        return land.run(self.context(folder, until))

    def messages(self) -> list[Message]:
        return bronze_messages(self.bronze.messages(self.spark))

    def is_empty(self) -> bool:
        return self.bronze.head() is None


@pytest.fixture
def source(spark, settings, request) -> Source:
    return Source(spark, settings, re.sub(r"\W", "_", request.node.name.lower())[5:60])


def numbered(*offsets: int, topic: str = TOPIC, partition: int = 0) -> list[Message]:
    return [
        Message(topic, partition, at, 1_770_000_000_000 + at, b'{"id":1}', b'{"n":%d}' % at)
        for at in offsets
    ]


MESSAGES = [
    *numbered(0, 1, 5, 9),
    Message(TOPIC, 1, 7, key=None, value=b""),
    Message(TOPIC, 1, 8, key=b"", value=None, headers=(("a", b"b"), ("a", b""), ("c", None))),
    Message(TOPIC, 1, 9, key=b"\xff\xfe", value=b"\x00\xff", headers=()),
    Message(TOPIC, 2, 2**40, value='üñí😀\u0000\\"/\n\r\u2028'.encode()),
    Message("shop.transaction", 0, 3, value=b'{"status":"BEGIN"}'),
    Message("shop", 0, 0, value=b"{}"),
    Message("__debezium-heartbeat.shop", 0, 11, value=b"{}"),
]


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_an_archive_lands_byte_for_byte(source, tmp_path, ending):
    outcome = source.land(write_archive(tmp_path, MESSAGES, ending=ending))
    assert source.messages() == sorted(MESSAGES)
    assert outcome.counts["messages"] == len(MESSAGES)
    assert outcome.counts["topics"][TOPIC] == {"0": 4, "1": 3, "2": 1}


def test_landing_again_changes_nothing(source, tmp_path):
    folder = write_archive(tmp_path, MESSAGES)
    source.land(folder)
    head = source.bronze.head()
    outcome = source.land(folder)
    assert (outcome.counts["messages"], outcome.batch_id) == (0, "")
    assert source.bronze.head() == head
    assert source.messages() == sorted(MESSAGES)


def test_pieces_of_an_archive_land_one_after_the_other(source, tmp_path):
    pieces = [MESSAGES[:2], MESSAGES[1:6], MESSAGES[4:]]
    for number, piece in enumerate(pieces):
        source.land(write_archive(tmp_path / str(number), piece))
    assert source.messages() == sorted(MESSAGES)


def test_the_batch_id_depends_on_the_messages_alone(spark, settings, tmp_path):
    folder = write_archive(tmp_path, MESSAGES)
    ids = set()
    for _ in range(2):
        source = Source(spark, settings, "same_batch")
        ids.add(source.land(folder).batch_id)
        spark.sql("DROP TABLE lakehouse.bronze.same_batch PURGE")
    assert len(ids) == 1


CHANGES = {
    "value": {"value": b'{"n":6}'},
    "key": {"key": b'{"id":2}'},
    "no key": {"key": None},
    "tombstone": {"value": None},
    "empty value": {"value": b""},
    "headers": {"headers": (("a", b"b"),)},
    "timestamp": {"timestamp_ms": 1},
}


def test_a_changed_byte_of_what_is_landed_is_refused_and_lands_nothing(source, tmp_path):
    source.land(write_archive(tmp_path / "good", numbered(0, 1, 5)))
    head = source.bronze.head()
    for name, change in CHANGES.items():
        changed = [
            each.changed(**change) if each.offset == 5 else each for each in numbered(0, 1, 5, 9)
        ]
        folder = write_archive(tmp_path / name, changed)
        message = f"{TOPIC}.jsonl: line 3: topic '{TOPIC}' partition 0 offset 5 has another"
        with pytest.raises(LandingRefused, match=re.escape(message)):
            source.land(folder)
    assert source.bronze.head() == head


def test_a_message_that_bronze_should_have_and_has_not_is_refused(source, tmp_path):
    source.land(write_archive(tmp_path / "good", numbered(0, 5)))
    message = "offset 3 is not in bronze, although later offsets of it are"
    with pytest.raises(LandingRefused, match=message):
        source.land(write_archive(tmp_path / "more", numbered(0, 3, 5)))


BROKEN_FILES = {
    "truncated line": (b'%s\n{"topic": "shop.pub\n%s\n', 2, "not JSON"),
    "blank line": (b"%s\n\n%s\n", 2, "not JSON"),
    "last line": (b"%s\n%s\n[]", 3, "[]: expected a JSON object"),
    "offset twice": (b"%s\n%s\n%s\n", 3, "partition 0 offset 0 is there twice"),
}


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_a_broken_line_is_refused_with_file_and_line_and_lands_nothing(source, tmp_path, case):
    template, number, fault = BROKEN_FILES[case]
    write_archive(tmp_path, [*numbered(0, 1), *numbered(0, 1, topic="shop.public.a")])
    path = tmp_path / f"{TOPIC}.jsonl"
    first, second = path.read_bytes().splitlines()
    path.write_bytes(template % (first, second, first)[: template.count(b"%s")])
    with pytest.raises(ArchiveError, match=re.escape(f"{path}: line {number}: {fault}")):
        source.land(tmp_path)
    assert source.is_empty()


def test_a_gzip_file_without_a_byte_is_refused_and_a_whole_one_without_a_line_is_not(
    source, tmp_path
):
    packed = tmp_path / f"{TOPIC}.jsonl.gz"
    packed.write_bytes(b"")
    with pytest.raises(ArchiveError, match=r"has 0 bytes: expected a whole gzip file"):
        source.land(tmp_path)
    packed.write_bytes(gzip.compress(b""))
    assert source.land(tmp_path).counts["messages"] == 0


def test_a_gzip_file_that_ends_early_is_refused(source, tmp_path):
    lines = write_archive(tmp_path, numbered(*range(500))) / f"{TOPIC}.jsonl"
    packed = tmp_path / f"{TOPIC}.jsonl.gz"
    packed.write_bytes(gzip.compress(lines.read_bytes())[:-2000])
    lines.unlink()
    with pytest.raises(ArchiveError, match=re.escape(f"{packed}: line ")):
        source.land(tmp_path)
    assert source.is_empty()


def test_topics_of_others_are_listed_and_stay_out(source, tmp_path):
    mine, other = numbered(0), numbered(0, topic="inventory.public.orders")
    outcome = source.land(write_archive(tmp_path, mine + other))
    assert outcome.detail["not_landed_topics"] == ["inventory.public.orders"]
    assert source.messages() == mine


def test_an_archive_of_other_sources_only_is_refused(source, tmp_path):
    folder = write_archive(tmp_path, numbered(0, topic="inventory.public.orders"))
    with pytest.raises(LandingRefused, match="no topic matches"):
        source.land(folder)


def test_a_missing_folder_is_named(source, tmp_path):
    with pytest.raises(ArchiveError, match="no such folder: expected one with <topic>"):
        source.land(tmp_path / "no")


def test_the_data_interval_ends_before_its_end(source, tmp_path):
    folder = write_archive(tmp_path, numbered(0, 1, 2, 3))
    source.land(folder, until=datetime.fromtimestamp(1_770_000_000.002, UTC))
    assert source.messages() == numbered(0, 1)
    source.land(folder)
    assert source.messages() == numbered(0, 1, 2, 3)


def test_bronze_can_be_written_as_an_archive_and_landed_again(spark, settings, tmp_path):
    first = Source(spark, settings, "archived")
    first.land(write_archive(tmp_path / "in", MESSAGES))
    said = archive(spark, first.config, settings, "bronze", tmp_path / "out")
    assert read_archive(tmp_path / "out") == sorted(MESSAGES)
    assert f"{TOPIC} partition 1: offsets [0, 10)" in said
    second = Source(spark, settings, "landed_again")
    second.land(tmp_path / "out")
    assert second.messages() == sorted(MESSAGES)


def test_an_archive_is_not_written_over_another(spark, settings, source, tmp_path):
    source.land(write_archive(tmp_path, numbered(0)))
    with pytest.raises(ArchiveError, match="is not empty: expected a new or an empty one"):
        archive(spark, source.config, settings, "bronze", tmp_path)


def test_a_source_without_messages_cannot_be_archived(spark, settings, source, tmp_path):
    with pytest.raises(ArchiveError, match="bronze has no message"):
        archive(spark, source.config, settings, "bronze", tmp_path)


def test_the_run_leaves_its_numbers_and_a_refusal_its_reason(source, tmp_path):
    execute("land", source.context(write_archive(tmp_path / "good", numbered(0, 1))))
    execute("land", source.context(tmp_path / "no"))
    rows = source.ledger.rows(RUNS, source=source.config.name)
    found = sorted(rows, key=lambda row: row.attempt)
    assert [row.status for row in found] == ["succeeded", "failed"]
    assert json.loads(found[0].counts)["topics"] == {TOPIC: {"0": 2}}
    assert json.loads(found[0].detail)["offsets"][TOPIC]["partitions"] == {"0": 2}
    assert "no such folder" in found[1].message


def test_one_file_for_each_task_sorted_by_topic_partition_and_offset(spark, source, tmp_path):
    source.land(write_archive(tmp_path, MESSAGES))
    files = spark.sql(f"SELECT file_path FROM lakehouse.{source.bronze.table}.files").collect()
    assert len(files) == 1
    stored = spark.read.parquet(files[0]["file_path"]).select("topic", "partition", "offset")
    rows = [tuple(row) for row in stored.collect()]
    assert rows == sorted(rows)
