"""A log that a person confirms: what is captured from then on is newer than all before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakehouse.config import parse_source
from lakehouse.plan.records import STEPS
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import Runs, laws_hold, open_runs

ORDERS = Table("orders", [column("id", "int32", optional=False), column("name", "string")])
ROW = ("id", "name", "_cdc.epoch")


def row(number: int, name: str) -> dict[str, object]:
    return {"id": number, "name": name}


def confirmed(runs: Runs, *times_ms: int) -> Runs:
    """The same source whose TOML file has these times."""
    name = runs.source.name
    times = ", ".join(datetime.fromtimestamp(t / 1000, UTC).isoformat() for t in times_ms)
    text = f'connector = "postgresql"\ntopic_prefix = "{name}"\nnew_logs = [{times}]\n'
    return replace(runs, source=parse_source(text, name))


def restore(connector: Postgres) -> None:
    """The cluster is as it was some time ago: its numbers begin lower, and come again."""
    connector.lsn, connector.last_commit, connector.transaction = 500, None, 700


def findings(runs: Runs, connector: Postgres) -> list[str]:
    outcomes = runs.run(connector)
    assert laws_hold(outcomes["apply"])
    assert outcomes["publish"].status == "succeeded"
    return [each for each in outcomes["apply"].detail["findings"] if "never came before" in each]


@pytest.mark.further
def test_a_restored_cluster_goes_on_once_its_log_is_confirmed(spark, settings, tmp_path):
    runs, connector = open_runs(spark, settings, tmp_path, "restored"), Postgres("restored")
    connector.snapshot(ORDERS, [row(1, "a"), row(2, "a"), row(3, "a")])
    connector.transact((ORDERS, "u", row(1, "a"), row(1, "b")), (ORDERS, "d", row(3, "a"), None))
    start = connector.mark()
    connector.transact((ORDERS, "u", row(2, "a"), row(2, "b")))
    assert findings(runs, connector) == []
    connector.redeliver(start, first_without_commit=True)
    assert findings(runs, connector) == []

    restore(connector)
    # Behind its first transaction a connector sends commit positions.
    connector.transaction, connector.last_commit = 800, 490
    connector.transact((ORDERS, "u", row(1, "a"), row(1, "c")))
    [told] = findings(runs, connector)
    assert all(part in told for part in ("1 events", "orders[0]", "new_logs"))
    before = [(1, "b", 0), (2, "b", 0)]
    assert runs.rows("orders", *ROW) == before

    newest = connector.clock_ms
    refused = confirmed(runs, newest).run(connector)
    assert [refused[step].status for step in STEPS] == ["succeeded", *["failed"] * 4]
    assert "expected a time after" in refused["check"].message
    connector.clock_ms = newest + 60_000
    runs = confirmed(runs, connector.clock_ms)
    assert findings(runs, connector) == []
    assert runs.rows("orders", *ROW) == before

    # Numbers of transactions that the older log had are none of it.
    restore(connector)
    connector.snapshot(ORDERS, [row(1, "c"), row(2, "a"), row(3, "a")])
    start = connector.mark()
    connector.transact((ORDERS, "u", row(2, "a"), row(2, "d")))
    connector.transact((ORDERS, "u", row(3, "a"), row(3, "d")), end=False)
    assert findings(runs, connector) == []
    assert runs.rows("orders", *ROW) == [(1, "c", 1), (2, "d", 1), (3, "a", 1)]
    connector.finish("public.orders", 1)
    connector.transact((ORDERS, "u", row(1, "c"), row(1, "e")))
    connector.redeliver(start, first_without_commit=False)
    assert findings(runs, connector) == []
    after = [(1, "e", 1), (2, "d", 1), (3, "d", 1)]
    assert runs.rows("orders", *ROW) == after
    # Behind the first cut with it, the time may go from the file again.
    connector.transact((ORDERS, "d", row(1, "e"), None))
    findings(replace(runs, source=parse_source(DEFAULT, "restored")), connector)
    assert runs.rows("orders", *ROW) == after[1:]


DEFAULT = 'connector = "postgresql"\ntopic_prefix = "restored"\n'
