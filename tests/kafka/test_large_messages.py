"""Events of 10 MB go through a real broker into silver; what is above the cap is set aside."""

from __future__ import annotations

import hashlib
from pathlib import Path

from lakehouse.plan.records import QUARANTINE
from lakehouse.spark.parsing.reasons import MAX_VALUE_BYTES
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold
from tests.support.topics import Topics, consumed

LETTERS = Table("letters", [column("id", "int32", optional=False), column("body", "string")])
# No two parts of it are alike, so that a lost or repeated one shows.
LARGE = "".join(f"{number:08d} — " for number in range(770_000))
TOO_LARGE = "x" * MAX_VALUE_BYTES


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def create(topics: Topics, *bodies: str) -> None:
    """Send create events as the connector does, with keys from 1."""
    connector = Postgres(topics.prefix, framed=False)
    for number, body in enumerate(bodies, 1):
        connector.transact((LETTERS, "c", None, {"id": number, "body": body}))
    parts = ("topic", "key", "value")
    topics.produce([{part: sent[part] for part in parts} for sent in connector.messages])


def test_an_event_of_ten_megabytes_is_published_and_one_above_the_cap_is_quarantined(
    topics: Topics, tmp_path: Path
):
    topic = topics.create(topic=f"{topics.prefix}.public.letters")
    runs = Runs(topics.spark, topics.settings, tmp_path, topics.source())
    assert 10_000_000 < len(LARGE.encode()) < MAX_VALUE_BYTES
    create(topics, "a", LARGE, TOO_LARGE, "d")
    outcomes = runs.steps()
    assert {done.status for done in outcomes.values()} == {"succeeded"}
    assert outcomes["land"].counts["messages"] == 4
    assert laws_hold(outcomes["apply"])
    expected = [(1, digest("a")), (2, digest(LARGE)), (4, digest("d"))]
    assert runs.rows("letters", "id", "sha2(body, 256)") == expected
    quarantined = runs.ledger.rows(QUARANTINE, source=runs.source.name)
    assert [(row.topic, row.offset, row.reason) for row in quarantined] == [(topic, 2, "too_large")]
    assert topics.landed() == consumed(topics.address, [topic])
