"""The recorded archives in batches of every size that divides them, each batch applied twice.

`LAKEHOUSE_SOAK_BATCHES` bounds how many batches an archive is cut into (all sizes without it).
"""

from __future__ import annotations

import os
import platform
import time
from datetime import UTC, datetime

import pytest

from tests.support.archives import capture_cases, read_archive, write_archive
from tests.support.capture_runs import Case, wanted
from tests.support.captures import Capture

MOST = int(os.environ.get("LAKEHOUSE_SOAK_BATCHES", "100000"))


@pytest.mark.timeout(0)
def test_every_archive_ends_the_same_in_batches_of_every_size(spark, settings, captures, tmp_path):
    started, runs, broken = time.monotonic(), 0, []
    cases = capture_cases(captures)
    for connector, folder in cases:
        capture = Capture(connector, folder)
        messages = read_archive(folder)
        messages.sort(key=lambda message: (message.timestamp_ms, message.topic, message.offset))
        for size in sizes(len(messages)):
            case = Case(spark, settings, tmp_path, capture, f"_by_{size}")
            for end in range(size, len(messages) + 1, size):
                archive = write_archive(tmp_path / f"{case.source.name}_{end}", messages[:end])
                for _ in range(2):
                    case.run(archive)
                    runs += 1
            broken += [f"{case.source.name}: {what}" for what in differences(case)]
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {platform.node()}, {os.cpu_count()} cores: "
        f"{len(cases)} archives, {runs} runs, at most {MOST} batches, "
        f"{time.monotonic() - started:.0f} s, {len(broken)} differences"
    )
    assert broken == []


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
