"""The recorded archives in batches of every size that divides them, each batch applied twice.

`LAKEHOUSE_SOAK_BATCHES` bounds how many batches an archive is cut into (all sizes without it).
"""

from __future__ import annotations

import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests.support.archives import Message, capture_cases, read_archive, write_archive
from tests.support.capture_runs import Case, wanted
from tests.support.captures import Capture

MOST = int(os.environ.get("LAKEHOUSE_SOAK_BATCHES", "100000"))


@pytest.mark.timeout(0)
@pytest.mark.parametrize("connector", ["db2", "oracle", "sqlserver", "ticdc"])
def test_every_archive_ends_the_same_in_batches_of_every_size(
    spark, settings, captures, tmp_path, connector: str
):
    started = time.monotonic()
    cases = [
        (Capture(connector, folder), size)
        for each, folder in capture_cases(captures)
        for size in sizes(len(read_archive(folder)))
        if each == connector
    ]

    def run(case: tuple[Capture, int]) -> tuple[int, list[str]]:
        capture, size = case
        return in_batches(Case(spark, settings, tmp_path, capture, f"_by_{size}"), size)

    # A run waits for its driver most of the time.
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, cases))
    runs, broken = sum(count for count, _ in found), [what for _, bad in found for what in bad]
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores: "
        f"{connector}, {len(cases)} archives and sizes, {runs} runs, at most {MOST} batches, "
        f"{time.monotonic() - started:.0f} s, {len(broken)} differences"
    )
    assert broken == []


def in_batches(case: Case, size: int) -> tuple[int, list[str]]:
    """How many runs it took, and what is not as expected at the end."""
    messages = as_they_came(read_archive(case.capture.folder))
    ends = range(size, len(messages) + 1, size)
    for end in ends:
        archive = write_archive(case.runs.folder / f"{case.source.name}_{end}", messages[:end])
        for _ in range(2):
            case.run(archive)
    return 2 * len(ends), [f"{case.source.name}: {what}" for what in differences(case)]


def as_they_came(messages: list[Message]) -> list[Message]:
    """By time; in a topic partition by offset, whatever a message says of its time."""
    newest: dict[tuple[str, int], int] = {}
    placed = []
    for message in sorted(messages, key=lambda message: message.offset):
        place = (message.topic, message.partition)
        newest[place] = max(newest.get(place, 0), message.timestamp_ms)
        placed.append((newest[place], message.topic, message.partition, message.offset, message))
    return [message for *_, message in sorted(placed, key=lambda entry: entry[:4])]


def sizes(count: int) -> list[int]:
    """The sizes that divide an archive, from halves down."""
    return [
        size for size in range(count // 2, 0, -1) if count % size == 0 and count // size <= MOST
    ]


def differences(case: Case) -> list[str]:
    """What is not as expected at the end."""
    expected = case.capture.expected
    places = {(q["topic"], q["partition"], q["offset"]) for q in expected.get("quarantine", ())}
    tables = expected.get("tables_excluding_open_transactions", expected["tables"])
    found = [] if case.quarantined() == places else ["quarantine"]
    rows, right = case.rows(tables), wanted(case.capture.name, tables)
    return found + [name for name in tables if rows[name] != right[name]]
