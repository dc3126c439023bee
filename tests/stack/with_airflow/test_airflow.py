"""Airflow in the stack: it is healthy, its login works, and its tasks find their way."""

from __future__ import annotations

import configparser
import json
import stat
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from infra.airflow import environment
from infra.home import StackHome
from infra.state import AirflowAddress
from infra.stopping import living_servers
from lakehouse.config import load_sources
from tests.stack.conftest import Stack, settings_of
from tests.stack.test_lifecycle import listening_addresses
from tests.stack.with_airflow.asking import call

DEADLINE_S = 240
COMPONENTS = {
    "airflow_api_server",
    "airflow_scheduler",
    "airflow_dag_processor",
    "airflow_triggerer",
}


def test_all_components_are_healthy(airflow: AirflowAddress):
    health = call(f"{airflow.url}/api/v2/monitor/health")
    assert {name: part["status"] for name, part in health.items()} == {
        "metadatabase": "healthy",
        "scheduler": "healthy",
        "triggerer": "healthy",
        "dag_processor": "healthy",
    }


def test_a_wrong_password_is_refused(airflow: AirflowAddress):
    login = {"username": airflow.user, "password": "guessed"}
    with pytest.raises(urllib.error.HTTPError) as refused:
        call(f"{airflow.url}/auth/token", body=login)
    assert refused.value.code == 401
    refused.value.close()


def test_each_source_has_its_dag(stack: Stack, airflow: AirflowAddress, token: str):
    wanted = {f"ingest_{source.name}" for source in load_sources(stack.settings)}
    deadline = time.monotonic() + DEADLINE_S
    while True:
        dags = call(f"{airflow.url}/api/v2/dags?exclude_stale=true", token=token)["dags"]
        if wanted <= {dag["dag_id"] for dag in dags}:
            break
        assert time.monotonic() < deadline, dags
    errors = call(f"{airflow.url}/api/v2/importErrors", token=token)
    assert errors["import_errors"] == []


def test_each_source_has_its_pool_of_one_slot(stack: Stack, airflow: AirflowAddress, token: str):
    pools = call(f"{airflow.url}/api/v2/pools", token=token)["pools"]
    slots = {pool["name"]: pool["slots"] for pool in pools if pool["name"].startswith("ingest_")}
    assert slots == {f"ingest_{source.name}": 1 for source in load_sources(stack.settings)}


def test_airflow_listens_on_loopback_only(stack: Stack, airflow: AirflowAddress):
    living = living_servers(stack.home)
    assert set(living) >= COMPONENTS
    pids = set().union(*(living[name] for name in COMPONENTS))
    port = int(airflow.url.rpartition(":")[2])
    assert listening_addresses(pids) == {("127.0.0.1", port)}


def test_logins_of_airflow_are_closed_to_others(stack: Stack, airflow: AirflowAddress):
    files = (stack.home.airflow / "airflow.cfg", Path(airflow.password_file))
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_airflow_makes_objects_of_no_classes_but_its_own(stack: Stack, airflow: AirflowAddress):
    option = "allowed_deserialization_classes"
    written = configparser.ConfigParser(interpolation=None)
    written.read(stack.home.airflow / "airflow.cfg")
    assert written.sections()
    assert not written.has_option("core", option)
    found = environment(stack.home, stack.settings, load_sources(stack.settings), {})
    assert not [name for name in found if option in name.lower()]


def test_tasks_find_the_connections_of_the_toml_files(tmp_path: Path):
    settings = settings_of(tmp_path)
    kafka = {"bootstrap.servers": "127.0.0.1:9092", "sasl.username": "lakehouse"}
    found = environment(StackHome(tmp_path), settings, load_sources(settings), kafka)
    assert json.loads(found["AIRFLOW_CONN_KAFKA_SHOP"])["extra"] == kafka
    assert json.loads(found["AIRFLOW_CONN_SPARK_DEFAULT"])["host"] == "local[2]"
    assert found["LAKEHOUSE_HOME"] == str(tmp_path)
    assert found["LAKEHOUSE_SOURCES"] == str(settings.sources)
