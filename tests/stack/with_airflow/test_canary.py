"""Secrets of Airflow connections are found nowhere after runs that went well and that failed.

They are random. Then all is searched: task logs, every row of Airflow's metadata, all files below
the stack's home, and the arguments of all processes meanwhile. The run's id, which is no secret,
shows that the search sees each of these places.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from infra.airflow_api import AirflowApi
from infra.clients import connection
from infra.ports import LOOPBACK
from infra.sources import Database, Engine
from infra.stopping import AIRFLOW_DATABASE
from tests.stack.conftest import Stack
from tests.stack.with_airflow.asking import call, send, until
from tests.stack.with_airflow.conftest import Ingested
from tests.stack.with_airflow.scheduled import NEVER, Schedule
from tests.support.arguments import watched_arguments
from tests.support.canaries import Search
from tests.support.sampling import EVERY_CASE

SOURCE = f"""connector = "postgresql"
topic_prefix = "inventory"
[schedule]
interval = "{NEVER}"
[kafka]
connection = "kafka_canary"
[tables."public.customers".columns]
email = {{ mask = "hash" }}
"""
# The files that hold secrets, each closed to others; see `StackHome`.
MEANT = (
    "airflow/airflow.cfg",
    "airflow/simple_auth_manager_passwords.json",
    "stack.json",
    "stack/secrets/connect.properties",
    "stack/secrets/mariadb.sql",
    "stack/secrets/mysql.sql",
    "stack/secrets/passwords.json",
)
RUN = f"run_{secrets.token_hex(6)}"
# Dag → what its form says; each fails by the connection that it is given.
FAILING = {
    "signal_canary": {"action": "pause", "channel": "table"},
    **({"ingest_canary": {}, "reconcile_canary": {}} if EVERY_CASE else {}),
}


@dataclass(frozen=True)
class Tempted:
    """What runs with canaries left.

    Attributes:
        state: How the good run ended.
        failed: Dag → its failed tasks, of the runs that were given something wrong.
    """

    canaries: dict[str, str]
    arguments: frozenset[bytes]
    state: str
    failed: dict[str, list[str]]


def login_of(stack: Stack, password: str) -> dict[str, object]:
    found = stack.database("inventory")
    return {
        "connection_id": "database_canary",
        "conn_type": "postgres",
        "host": found.host,
        "port": found.port,
        "login": found.user,
        "password": password,
        "schema": found.database,
    }


def broker_of(address: str, password: str) -> dict[str, object]:
    extra = {"bootstrap.servers": address, "sasl.username": "lake", "sasl.password": password}
    if address.endswith(":1"):
        extra |= {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    return {"connection_id": "kafka_canary", "conn_type": "kafka", "extra": json.dumps(extra)}


def failed_tasks(api: AirflowApi, dag: str) -> list[str]:
    """The tasks of the wrong run that have failed once."""
    url = f"{api.url}/api/v2/dags/{dag}/dagRuns/wrong/taskInstances"
    tasks = call(url, token=api.token)["task_instances"]
    return [task["task_id"] for task in tasks if task["state"] in ("failed", "up_for_retry")]


@pytest.fixture(scope="module")
def tempted(
    stack: Stack, api: AirflowApi, schedule: Schedule, ingested: Ingested, mask_key: str
) -> Iterator[Tempted]:
    wrong = {"wrong kafka": secrets.token_hex(12), "wrong database": secrets.token_hex(12)}
    canaries = {"stored kafka": secrets.token_hex(12), "mask key": mask_key, **wrong}
    canaries |= stack.home.passwords()
    (schedule.settings.sources / "canary.toml").write_text(SOURCE)
    send(api, "POST", "connections", broker_of(str(stack.state.kafka), canaries["stored kafka"]))
    send(api, "POST", "connections", login_of(stack, stack.database("inventory").password))
    api.ensure_pool("ingest_canary")
    for dag in ("ingest_canary", *FAILING):
        api.await_dag(dag, 300)
    with watched_arguments() as arguments:
        [ended] = api.await_end([api.trigger("ingest_canary", RUN)], print, 600)
        nobody = broker_of(f"{LOOPBACK}:1", wrong["wrong kafka"])
        send(api, "PATCH", "connections/kafka_canary", nobody)
        stranger = login_of(stack, wrong["wrong database"])
        send(api, "PATCH", "connections/database_canary", stranger)
        failed = {}
        for dag, form in FAILING.items():
            api.trigger(dag, "wrong", form)
            failed[dag] = until(lambda dag=dag: failed_tasks(api, dag), f"{dag} did not fail")
    yield Tempted(canaries, frozenset(arguments), ended.state, failed)
    (schedule.settings.sources / "canary.toml").unlink()
    for path in ("pools/ingest_canary", "connections/kafka_canary", "connections/database_canary"):
        send(api, "DELETE", path)


def metadata_rows(stack: Stack) -> Iterator[tuple[str, bytes]]:
    """Each table of Airflow's metadata, all rows as text."""
    port, login = stack.state.ports[AIRFLOW_DATABASE], stack.home.passwords()
    metadata = Database(Engine.POSTGRESQL, port, "airflow", login["airflow_database"], "airflow")
    with connection(metadata) as opened:
        cursor = opened.cursor()
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for (name,) in list(cursor.fetchall()):
            cursor.execute(f'SELECT row_to_json(t)::text FROM public."{name}" t')
            yield str(name), "\n".join(str(row[0]) for row in cursor.fetchall()).encode()


@pytest.fixture(scope="module")
def searched(stack: Stack, tempted: Tempted) -> Search:
    """All places, searched for the secrets and the run's id."""
    found = Search(tempted.canaries | {"run": RUN})
    for name, rows in metadata_rows(stack):
        found.look(f"metadata/{name}", rows)
    for line in tempted.arguments:
        found.look(f"arguments/{line[:80]!r}", line)
    found.look_below(stack.home.root, MEANT)
    return found


def holds_one(stack: Stack, tempted: Tempted, file: str) -> bool:
    found = Search(tempted.canaries)
    found.look(file, (stack.home.root / file).read_bytes())
    return bool(found.found)


def test_the_runs_ended_as_they_should(tempted: Tempted) -> None:
    assert tempted.state == "success"
    assert tempted.failed.keys() == FAILING.keys()


def test_a_secret_of_a_connection_is_found_nowhere(
    stack: Stack, tempted: Tempted, searched: Search, figure: Callable[[str], None]
) -> None:
    figure(f"Airflow, its metadata and all of its home: {searched.figure('run')}")
    assert searched.found.keys() <= {"run"}, searched.found
    assert all((stack.home.root / file).stat().st_mode & 0o077 == 0 for file in MEANT)
    # A file that has none would hide one for nothing.
    assert {file for file in MEANT if not holds_one(stack, tempted, file)} == set()


def test_the_search_sees_every_kind_of_place(searched: Search) -> None:
    places = searched.found["run"]
    for kind in (
        "metadata/dag_run",
        "metadata/xcom",
        "metadata/rendered_task_instance_fields",
        "metadata/log",
        "arguments/",
        "airflow/logs/",
        "warehouse/quality/runs/data/",
        "reports/canary/",
        "stack/data/",
    ):
        assert any(place.startswith(kind) for place in places), (kind, sorted(places))
