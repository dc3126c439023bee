"""Parts of the stack that need no server: ports, processes, state, registrations, samples."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from infra.connector_settings import BY_ENGINE, COMMON
from infra.errors import NotReady, StackError
from infra.home import StackHome
from infra.ports import choose_ports, is_free
from infra.processes import (
    ProcessRecord,
    end_processes,
    exit_code,
    is_running,
    session_pids,
    stack_pids,
    start_process,
)
from infra.registrations import Surroundings, plan_registration
from infra.servers.kafka import new_cluster_id
from infra.servers.server import wait_until
from infra.sources import SAMPLE_SOURCES, Database, Engine
from infra.stack import up
from infra.state import AirflowAddress, StackState, read_state
from lakehouse.config import load_source, load_sources, parse_source, required_topics
from lakehouse.errors import ConfigError
from tests.stack.conftest import settings_of

DATABASE = Database(Engine.POSTGRESQL, 5432, "someone", "hidden", "inventory")
KAFKA = {"bootstrap.servers": "127.0.0.1:9092", "security.protocol": "SASL_SSL"}
_HISTORY_CLIENTS = ("producer", "consumer")
SURROUNDINGS = Surroundings(KAFKA, Path("/secrets"))


@pytest.fixture
def home(tmp_path: Path) -> StackHome:
    made = StackHome(tmp_path)
    made.prepare()
    return made


def sleeper(home: StackHome, server: str, script: str = "sleep 600") -> ProcessRecord:
    return start_process(
        server,
        ("sh", "-c", script),
        environment={},
        log=home.log(server),
        stack_id=home.stack_id(),
    )


def end(home: StackHome, *records: ProcessRecord, grace_s: float = 5) -> None:
    end_processes(
        records,
        lambda: stack_pids(home.stack_id()),
        set,
        stop_signal=signal.SIGTERM,
        grace_s=grace_s,
    )


def test_a_taken_port_is_replaced_and_a_free_one_is_kept():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        chosen = choose_ports(["a", "b", "c"], {"a": port})
    assert chosen["a"] != port
    assert len(set(chosen.values())) == 3
    assert choose_ports(["b"], chosen) == {"b": chosen["b"]}
    assert is_free(chosen["c"])


def test_a_process_is_known_by_its_start_time_too(home: StackHome):
    record = sleeper(home, "kafka")
    assert is_running(record)
    assert not is_running(ProcessRecord("kafka", record.pid, record.started + 1))
    end(home, record)
    assert not is_running(record)
    assert exit_code(record) == -signal.SIGTERM


def test_descendants_in_sessions_of_their_own_end_with_their_server(home: StackHome):
    record = sleeper(home, "airflow_scheduler", "setsid sleep 600 & setsid sleep 600 & wait")
    while len(stack_pids(home.stack_id())) < 3:
        assert is_running(record)
    end(home, record)
    assert stack_pids(home.stack_id()) == set()


def test_a_descendant_that_lost_its_mark_and_outlives_its_server_ends_too(home: StackHome):
    # As Airflow's workers: another title in place of the environment, a group of their own.
    worker = "env -i sh -c 'trap \"\" TERM; echo ready; while :; do sleep 0.1; done'"
    record = sleeper(home, "airflow_scheduler", f"set -m; {worker} & wait")
    while "ready" not in home.log("airflow_scheduler").read_text():
        assert is_running(record)
    workers = session_pids([record]) - stack_pids(home.stack_id())
    assert workers
    end(home, record, grace_s=0.3)
    assert session_pids([record]) == set()
    assert session_pids([ProcessRecord("kafka", os.getpid(), 1)]) == set()


def test_a_process_that_ignores_the_request_is_killed(home: StackHome):
    record = sleeper(home, "kafka", "trap '' TERM; echo ready; while :; do sleep 0.1; done")
    while "ready" not in home.log("kafka").read_text():
        assert is_running(record)
    end(home, record, grace_s=0.3)
    assert exit_code(record) == -signal.SIGKILL


def test_processes_of_another_stack_are_left_alone(home: StackHome, tmp_path: Path):
    other = StackHome(tmp_path / "other")
    other.prepare()
    mine, theirs = sleeper(home, "kafka"), sleeper(other, "kafka")
    end(home, mine)
    assert is_running(theirs)
    end(other, theirs)


def test_a_server_that_ends_while_starting_is_told_with_its_log(home: StackHome):
    record = sleeper(home, "kafka", "echo no space left on device; exit 3")

    def probe() -> None:
        raise NotReady("refused")

    with pytest.raises(StackError, match=r"kafka ended while starting(.|\n)*no space left"):
        wait_until(
            probe,
            what="kafka",
            deadline_s=30,
            cancelled=threading.Event(),
            alive=lambda: is_running(record),
            log=home.log("kafka"),
        )


def test_the_state_is_read_as_it_was_written(home: StackHome):
    state = StackState(
        processes=(ProcessRecord("kafka", os.getpid(), 7),),
        ports={"kafka": 1},
        kafka="127.0.0.1:1",
        lakehouse_kafka={"bootstrap.servers": "127.0.0.1:4", "sasl.username": "lakehouse"},
        connect="http://127.0.0.1:2",
        airflow=AirflowAddress("http://127.0.0.1:3", "admin", "/file"),
        sources={"inventory": DATABASE},
    )
    state.write(home)
    assert read_state(home) == state
    assert "hidden" not in repr(state)


def test_a_broken_state_file_is_told_with_what_to_do(home: StackHome):
    home.state_file.write_text("{")
    with pytest.raises(StackError, match="lakehouse down"):
        read_state(home)


def test_two_commands_at_once_are_refused(home: StackHome):
    with home.locked(), pytest.raises(StackError, match="another command"):
        up(settings_of(home.root), sources=(), airflow=False)


def test_an_unknown_source_is_refused_before_anything_starts(tmp_path: Path):
    with pytest.raises(StackError, match=r"'nothing'.*inventory, shop, warehouse"):
        up(settings_of(tmp_path), sources=("nothing",), airflow=False)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_toml_file_is_refused_before_anything_starts(tmp_path: Path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "inventory.toml").write_text('connector = "postgresql"\nwrong = 1\n')
    settings = settings_of(tmp_path / "home").model_copy(update={"sources": sources})
    with pytest.raises(ConfigError, match="wrong"):
        up(settings, sources=("inventory",), airflow=False)
    assert not settings.home.exists()


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_each_sample_source_has_its_toml_file_and_its_rows(name: str, tmp_path: Path):
    source = load_source(name, settings_of(tmp_path))
    sample = SAMPLE_SOURCES[name]
    assert source.connector == sample.engine
    assert "CREATE TABLE debezium_signal" in sample.sample_sql
    assert source.control_tables == (f"{sample.captured_schema}.debezium_signal",)


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_a_registration_names_the_topics_of_the_toml_file_and_no_password(
    name: str, tmp_path: Path
):
    source = load_source(name, settings_of(tmp_path))
    found = plan_registration(source, DATABASE, SURROUNDINGS)
    config = found.config
    assert config["topic.prefix"] == source.topic_prefix
    assert config["notification.sink.topic.name"] == source.kafka.notifications
    assert config["signal.kafka.topic"] == source.kafka.signals
    assert config["signal.data.collection"] == source.control_tables[0]
    assert config.get("schema.history.internal.kafka.topic") == source.kafka.schema_history
    assert config["database.password"] == "${file:/secrets/connect.properties:debezium}"
    assert DATABASE.password not in str(config)
    clients = {name for name, text in config.items() if text == KAFKA["security.protocol"]}
    history = {f"schema.history.internal.{each}.security.protocol" for each in _HISTORY_CLIENTS}
    has_history = source.kafka.schema_history is not None
    assert clients == {"signal.consumer.security.protocol", *(history if has_history else ())}
    # Whoever lands right after the start finds every topic that it cannot do without.
    assert set(required_topics(source)) <= {*found.topics, *source.kafka.topics}


@pytest.mark.parametrize("name", SAMPLE_SOURCES)
def test_registrations_have_the_settings_that_correctness_needs(name: str, tmp_path: Path):
    source = load_source(name, settings_of(tmp_path))
    config = plan_registration(source, DATABASE, SURROUNDINGS).config
    needed = {
        "provide.transaction.metadata": "true",
        "tombstones.on.delete": "true",
        "skipped.operations": "none",
        "decimal.handling.mode": "precise",
        "snapshot.mode": "initial",
        "key.converter.schemas.enable": "true",
        "value.converter.schemas.enable": "true",
        "key.converter.replace.null.with.default": "false",
        "value.converter.replace.null.with.default": "false",
    }
    assert {key: config[key] for key in needed} == needed


def test_connectors_of_one_server_kind_have_ids_of_their_own(tmp_path: Path):
    configs = [
        plan_registration(source, DATABASE, SURROUNDINGS).config
        for source in load_sources(settings_of(tmp_path))
    ]
    ids = [config["database.server.id"] for config in configs if "database.server.id" in config]
    assert len(ids) == len(set(ids)) == 2


def test_a_toml_file_with_another_connector_is_refused():
    source = parse_source('connector = "mysql"\ntopic_prefix = "inventory"', "inventory")
    with pytest.raises(StackError, match=r"'mysql': expected 'postgresql'"):
        plan_registration(source, DATABASE, SURROUNDINGS)


@pytest.mark.parametrize("engine", Engine)
def test_every_setting_says_why_and_stands_once(engine: Engine):
    settings = (*COMMON, *BY_ENGINE[engine])
    assert len({setting.name for setting in settings}) == len(settings)
    assert all(setting.why.endswith(".") for setting in settings)


def test_no_cluster_id_looks_like_an_option():
    ids = {new_cluster_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert {len(each) for each in ids} == {22}
    assert all(each[0].isalpha() for each in ids)
