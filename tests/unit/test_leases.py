"""The lease of a source among runs, and maintenance that comes between the steps of one."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lakehouse.config import Settings
from lakehouse.errors import Superseded
from lakehouse.plan.lease import BETWEEN_STEPS_S, Holder, Lease, may_take
from lakehouse.spark.control.lease_table import LEASES, LeaseTable
from lakehouse.spark.control.leases import Leases
from lakehouse.spark.opening import open_catalog
from tests.support.lost_answers import losing_commits


@pytest.fixture
def catalog(tmp_path: Path):
    (tmp_path / "warehouse").mkdir()
    return open_catalog(Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)}))


@pytest.fixture
def leases(catalog) -> Leases:
    return Leases(catalog, "shop")


@pytest.fixture
def other(catalog) -> Iterator[Holder]:
    """Another process, which lives."""
    process = subprocess.Popen(["sleep", "60"])
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    yield Holder(socket.gethostname(), process.pid, int(fields[19]))
    process.kill()
    process.wait()


def applied(leases: Leases, run_id: str = "run") -> int:
    """A run's process does its step and ends; the next step is another process's."""
    token = leases.take(run_id)
    with leases.held(token, run_id, lone_step=True) as check:
        check()
    return token


def published(leases: Leases, token: int, run_id: str = "run") -> None:
    with leases.held(token, run_id, lone_step=True) as check:
        check()
    leases.give_back(token, run_id)


def maintained(leases: Leases) -> int:
    with leases.upkeep("maintain__1", patience_s=0) as hold:
        hold.check()
    return hold.work


def test_between_its_steps_a_run_keeps_the_lease_from_other_runs(leases):
    token = applied(leases)
    with pytest.raises(Superseded, match=r"run 'run' holds the lease until .*--run-id run --fr"):
        leases.take("another")
    published(leases, token)
    assert leases.take("another") == token + 1


def test_a_run_that_another_one_overtook_stops(leases):
    token = applied(leases)
    leases.give_back(token, "run")
    leases.take("another")
    with pytest.raises(Superseded, match="another run took over"):
        published(leases, token)


def test_what_a_run_has_staged_is_published_after_maintenance_came_between(leases):
    token = applied(leases)
    assert maintained(leases) == token
    assert maintained(leases) == token
    with pytest.raises(Superseded, match="run 'run' holds the lease"):
        leases.take("another")
    published(leases, token)
    assert leases.take("another") > token


def test_a_run_goes_on_after_a_maintenance_that_was_killed(leases, catalog):
    token = applied(leases)
    table, before = LeaseTable(catalog, "shop"), leases.current()
    gone = Holder(socket.gethostname(), 2**22 + 1, 1)
    killed = Lease(token + 1, "maintain__1", gone, time.time() + 60, token, is_upkeep=True)
    assert before is not None
    assert table.took(killed)
    published(leases, token)
    newest = leases.current()
    assert newest is not None
    assert (newest.token, newest.work, newest.run_id) == (token + 2, token, "run")


def test_a_run_that_took_over_after_maintenance_supersedes_what_was_staged_before(leases):
    token = applied(leases)
    leases.give_back(token, "run")
    maintained(leases)
    assert applied(leases, "another") == token + 2
    with pytest.raises(Superseded, match="another run took over"):
        published(leases, token)
    assert maintained(leases) == token + 2


def test_maintenance_does_not_come_between_while_a_process_works(leases, catalog, other):
    token = leases.take("run")
    working = leases.current()
    assert working is not None
    LeaseTable(catalog, "shop").wrote(replace(working, holder=other))
    with (
        pytest.raises(Superseded, match="run 'run' holds the lease"),
        leases.upkeep("maintain__1", patience_s=0.1),
    ):
        pytest.fail("it took the lease of a process that works")
    leases.check(token)


def test_a_run_waits_for_the_maintenance_of_a_table(leases, catalog, other):
    token = applied(leases)
    table, end = LeaseTable(catalog, "shop"), time.time() + 300
    assert table.took(Lease(token + 1, "maintain__1", other, end, token, is_upkeep=True))
    left = Lease(token + 1, "run", None, end, token)
    done = threading.Timer(1.5, lambda: table.wrote(left))
    done.start()
    begun = time.monotonic()
    published(leases, token)
    assert time.monotonic() - begun > 1
    done.join()


def test_a_run_waits_for_another_one_while_a_process_works(leases, catalog, other):
    token = leases.take("run")
    working = replace(leases.current(), holder=other)
    table = LeaseTable(catalog, "shop")
    assert table.wrote(working)
    given_back = replace(working, holder=None, expires_at_s=0)
    done = threading.Timer(1.5, lambda: table.wrote(given_back))
    done.start()
    begun = time.monotonic()
    assert leases.take("another") == token + 1
    assert time.monotonic() - begun > 1
    done.join()


def test_who_may_wait_for_a_run_between_its_steps_gets_the_lease_after_it(leases, catalog):
    token = applied(leases)
    given_back = replace(leases.current(), expires_at_s=0)
    done = threading.Timer(1.5, lambda: LeaseTable(catalog, "shop").wrote(given_back))
    done.start()
    begun = time.monotonic()
    assert leases.take("rebuild", between_steps=True) == token + 1
    assert time.monotonic() - begun > 1
    done.join()


def test_a_maintenance_that_lost_the_lease_stops(leases):
    def overtaken() -> None:
        with leases.upkeep("maintain__1", patience_s=0) as hold:
            leases.take("run")
            hold.check()

    with pytest.raises(Superseded, match="another run took over"):
        overtaken()


def test_a_lease_of_an_earlier_version_is_read(leases):
    token = leases.take("run")
    text = '{"expires_at_s": 1.0, "holder": null, "run_id": "old", "token": 7}'
    assert Lease.from_json(text) == Lease(7, "old", None, 1.0)
    assert token == 1


def test_of_the_metadata_files_of_many_heartbeats_few_stay(leases, catalog):
    for _ in range(12):
        applied(leases)
    location = catalog.load_table(LEASES).metadata.location.removeprefix("file://")
    assert len(list(Path(location, "metadata").glob("*.metadata.json"))) <= 12


def test_a_lease_whose_answer_is_lost_is_taken(leases: Leases, catalog) -> None:
    before = leases.take("run")
    leases.give_back(before, "run")

    with losing_commits(catalog, 1):
        token = leases.take("next")

    assert token == before + 1
    newest = leases.current()
    assert newest
    assert (newest.token, newest.run_id) == (token, "next")
    leases.check(token)


@pytest.mark.parametrize("hours", [-48, 0, 48])
def test_a_lease_that_was_given_back_is_free_whatever_the_next_clock_says(
    leases: Leases, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    published(leases, applied(leases))
    now = time.time() + hours * 3600
    monkeypatch.setattr("lakehouse.spark.control.leases.time.time", lambda: now)
    assert leases.take("next") == 2


@pytest.mark.parametrize(
    ("ahead_s", "is_free"), [(-1, True), (BETWEEN_STEPS_S, False), (7200, True)]
)
def test_no_lease_lasts_longer_than_any_is_given_for(ahead_s: int, *, is_free: bool) -> None:
    held = Lease(7, "run", Holder("elsewhere", 1, 1), 1e9 + ahead_s)
    assert may_take(held, "next", 1e9, holder_is_gone=False) is is_free
