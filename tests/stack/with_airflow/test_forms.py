"""What a person does with the forms of a source, and what becomes of its tables.

One run of ingest publishes a snapshot that was asked for, what was read of one that was stopped,
and holds a table; one more publishes that table, which a person has released.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from infra.clients import run_sql
from infra.demo.compare import TableComparison, compare_source
from lakehouse.spark.control.ledger import Ledger
from tests.stack.changing import Changing, fill
from tests.stack.conftest import Stack
from tests.stack.with_airflow.conftest import Ingested
from tests.stack.with_airflow.person import Person, framed
from tests.stack.with_airflow.scheduled import Backfill

NAME = "inventory"
INGEST, SIGNAL, APPROVE = (f"{kind}_{NAME}" for kind in ("ingest", "signal", "approve"))
PARCELS, LETTERS = "parcels", "letters"
ROWS, LAST = 2_400, 1_600
# A snapshot lasts as one of many rows does, and as long as a busy machine takes to start a task:
# few rows a chunk, and each waits for the database.
CHUNK = "incremental.snapshot.chunk.size"
CHUNK_ROWS = 10
WAIT = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN PERFORM pg_sleep(2); RETURN NEW; END';
    CREATE TRIGGER wait BEFORE INSERT ON debezium_signal FOR EACH ROW
    WHEN (NEW.id LIKE '%-open') EXECUTE FUNCTION wait()
"""
PROGRESS = re.compile(rf"public\.{PARCELS}: chunk \d+")


@dataclass(frozen=True)
class Read:
    """A snapshot that the connector has read while rows changed; it waits for a run of ingest."""

    run_id: str
    progress: str


@contextmanager
def slowly(stack: Stack) -> Iterator[None]:
    """Let each chunk of a snapshot wait."""
    run_sql(stack.database(NAME), WAIT)
    try:
        yield
    finally:
        run_sql(stack.database(NAME), "DROP FUNCTION wait CASCADE")


@pytest.fixture(scope="module")
def changing(stack: Stack, backfill: Backfill, ingested: Ingested) -> Iterator[Changing]:
    """A table of many rows and one of few, read in small chunks; a backfill goes on meanwhile."""
    connect, barrier = stack.connect, stack.barrier(NAME)
    before = connect.config(NAME)
    connect.register(NAME, {**before, CHUNK: str(CHUNK_ROWS)})
    fill(stack.database(NAME), f"public.{PARCELS}", ROWS)
    stack.run(
        NAME,
        f"CREATE TABLE public.{LETTERS} (id int PRIMARY KEY, qty bigint)",
        f"INSERT INTO public.{LETTERS} SELECT n, n FROM generate_series(1, 800) AS n",
    )
    barrier.pass_one()
    yield Changing(stack, NAME, barrier)
    connect.register(NAME, before)
    barrier.pass_one()


@pytest.fixture(scope="module")
def read(changing: Changing, admin: Person) -> Read:
    """Rows that a condition takes are read again while a writer changes them."""
    form = {"tables": f"public.{PARCELS}", "conditions": f"id <= {LAST}\nstate != 'new'"}
    # Airflow takes its time, in which a faster one would fill Kafka.
    with changing.writer(PARCELS, every_s=0.2):
        with slowly(changing.stack):
            run_id = admin.starts(SIGNAL, form)
            progress = admin.reads_log(SIGNAL, run_id, "follow", PROGRESS)
        admin.reads_log(SIGNAL, run_id, "follow", "waiting for a run of ingest to publish them")
    return Read(run_id, progress)


@pytest.fixture(scope="module")
def stopped(changing: Changing, admin: Person, read: Read) -> tuple[str, str]:
    """A snapshot of the whole table, and the stop that a person sends while it is read."""
    with slowly(changing.stack):
        snapshot = admin.starts(SIGNAL, {"tables": f"public.{PARCELS}"})
        admin.reads_log(SIGNAL, snapshot, "follow", PROGRESS)
        stop = admin.starts(SIGNAL, {"action": "stop", "tables": f"public.{PARCELS}"})
        admin.sees_end(SIGNAL, stop)
    return snapshot, stop


@pytest.fixture(scope="module")
def published(changing: Changing, admin: Person, read: Read, stopped: tuple[str, str]) -> str:
    """A run of ingest that a person starts, behind a change that silver cannot follow."""
    letters = f"public.{LETTERS}"
    changing.stack.run(
        NAME,
        f"ALTER TABLE {letters} ALTER COLUMN qty TYPE int",
        f"INSERT INTO {letters} VALUES (9001, 7)",
    )
    changing.barrier.pass_one()
    run_id = admin.starts(INGEST)
    admin.sees_end(INGEST, run_id)
    return run_id


def compared(changing: Changing, table: str) -> TableComparison:
    """A table of the database against silver at the newest published cut."""
    stack, ledger = changing.stack, Ledger(changing.stack.settings)
    [found] = compare_source(
        stack.source(NAME),
        stack.database(NAME),
        ledger.catalog,
        ledger.newest_cut(NAME),
        only=(table,),
    )
    return found


def test_the_log_of_a_task_shows_how_far_a_snapshot_is_while_rows_change(read: Read):
    assert PROGRESS.search(read.progress)
    assert "waiting for a run" not in read.progress


def test_a_snapshot_that_a_person_stops_half_way_says_that_it_was_not_read(
    changing: Changing, admin: Person, stopped: tuple[str, str]
):
    snapshot, stop = stopped
    admin.reads_log(SIGNAL, stop, "follow", "stop-snapshot: done")
    admin.sees_end(SIGNAL, snapshot, "Failed")
    admin.reads_log(SIGNAL, snapshot, "follow", "stopped before it was read")


def test_rows_that_were_read_again_while_they_changed_are_published_and_equal_the_database(
    changing: Changing, admin: Person, read: Read, published: str
):
    admin.sees_end(SIGNAL, read.run_id)
    admin.reads_log(SIGNAL, read.run_id, "follow", re.compile(r"published: cut \d+"))
    assert compared(changing, PARCELS).examples == ()
    assert compared(changing, PARCELS).silver_rows == ROWS


def test_a_held_table_is_seen_in_airflow_released_in_a_form_and_applied_by_the_next_run(
    changing: Changing, admin: Person, published: str
):
    held = compared(changing, LETTERS)
    assert (held.silver_rows, held.source_rows) == (800, 801)
    assert "excluded" in held.examples[-1]
    admin.opens("/")
    admin.page.get_by_test_id("nav-sidebar").get_by_role("link", name="Data quality").click()
    frame = framed(admin.page)
    frame.get_by_role("link", name=NAME, exact=True).click()
    expect(frame.locator("body")).to_contain_text(f"lakehouse approve --source {NAME}")
    expect(frame.locator("body")).to_contain_text(f"public.{LETTERS}")

    admin.sees_end(APPROVE, admin.starts(APPROVE, {"table": f"public.{LETTERS}"}))
    admin.sees_end(INGEST, admin.starts(INGEST))
    assert compared(changing, LETTERS).examples == ()
    assert compared(changing, LETTERS).silver_rows == 801
