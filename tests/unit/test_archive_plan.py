"""Topic archives: which files, what is wrong with a line, what to land and what to compare."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.errors import ArchiveError, LandingRefused
from lakehouse.plan.topics.archive import (
    PartitionContent,
    archive_files,
    archive_topic_id,
    plan_archive,
)
from lakehouse.plan.topics.archive_line import line_fault
from lakehouse.plan.topics.offsets import LandedOffsets, TopicProgress
from tests.support.archive_lines import BAD_LINES, GOOD_LINES

ID = archive_topic_id("t", "s")


def landed(**next_offsets: int) -> LandedOffsets:
    numbered = {int(name[1:]): next_ for name, next_ in next_offsets.items()}
    return LandedOffsets({"t": TopicProgress(ID, numbered)})


@pytest.mark.parametrize("case", GOOD_LINES)
def test_a_message_has_no_fault(case):
    assert line_fault(GOOD_LINES[case], "t") is None


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_broken_line_is_explained(case):
    content, message = BAD_LINES[case]
    assert message in str(line_fault(content, "t"))


@given(st.binary(max_size=40))
def test_no_bytes_make_the_check_fail(content):
    assert line_fault(content, "t") is not None


def test_the_topics_of_a_folder_are_its_jsonl_files():
    names = ["b.jsonl", "a.x.jsonl.gz", "expected.json", "notes.md", "a b.jsonl", "c.jsonl.bak"]
    found = archive_files(Path("/in"), names)
    assert [(file.topic, file.path) for file in found] == [
        ("a.x", Path("/in/a.x.jsonl.gz")),
        ("b", Path("/in/b.jsonl")),
    ]


def test_a_topic_in_two_files_is_refused():
    with pytest.raises(ArchiveError, match=r"topic 'a' is there twice, as 'a\.jsonl' and"):
        archive_files(Path("/in"), ["a.jsonl.gz", "a.jsonl"])


def test_a_folder_without_topics_is_refused():
    with pytest.raises(ArchiveError, match=r"/in: no topic: expected files named <topic>\.jsonl"):
        archive_files(Path("/in"), ["notes.md"])


def test_topic_ids_differ_by_name_and_by_source():
    ids = {archive_topic_id(topic, source) for topic in ("a", "b") for source in ("x", "y")}
    assert len(ids) == 4


# Landed offsets, content (partition, first, last[, limit]), ranges to land and to compare.
PLANS = {
    "first": (LandedOffsets(), [(0, 3, 9)], [(0, 3, 10)], []),
    "again": (landed(p0=10), [(0, 3, 9)], [], [(0, 3, 10)]),
    "continued": (landed(p0=10), [(0, 10, 12)], [(0, 10, 13)], []),
    "overlapping": (landed(p0=10), [(0, 8, 12)], [(0, 10, 13)], [(0, 8, 10)]),
    "a gap between archives is a gap in offsets": (
        landed(p0=10),
        [(0, 20, 22)],
        [(0, 20, 23)],
        [],
    ),
    "another partition": (landed(p0=10), [(1, 0, 1)], [(1, 0, 2)], []),
    "until": (LandedOffsets(), [(0, 3, 9, 5)], [(0, 3, 5)], []),
    "until before the first": (LandedOffsets(), [(0, 3, 9, 3)], [], []),
}


@pytest.mark.parametrize("case", PLANS)
def test_what_to_land_and_what_to_compare(case):
    before, contents, land, compare = PLANS[case]
    plan = plan_archive("s", before, [PartitionContent("t", *each) for each in contents])
    assert [(r.partition, r.start, r.end) for r in plan.landing.ranges] == land
    assert [(r.partition, r.start, r.end) for r in plan.landed] == compare


def test_an_archive_never_moves_other_landed_offsets():
    plan = plan_archive("s", landed(p0=10, p1=4), [PartitionContent("t", 1, 0, 8)])
    assert plan.landing.landed == landed(p0=10, p1=9)


FROM_KAFKA = LandedOffsets({"t": TopicProgress("kafka-id", {0: 10})})


def test_an_archive_of_what_is_landed_from_kafka_is_compared():
    plan = plan_archive("s", FROM_KAFKA, [PartitionContent("t", 0, 0, 9)])
    assert plan.landing.ranges == ()
    assert [(r.topic_id, r.start, r.end) for r in plan.landed] == [("kafka-id", 0, 10)]


def test_an_archive_that_goes_beyond_what_is_landed_from_kafka_is_refused():
    with pytest.raises(LandingRefused, match="offsets up to 10 in the archive: expected them belo"):
        plan_archive("s", FROM_KAFKA, [PartitionContent("t", 0, 0, 10)])
