"""Start, kill, start again, stop: nothing is lost and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from infra.clients import query
from infra.home import StackHome
from infra.ports import choose_ports
from infra.processes import stack_pids
from infra.servers import binlog
from infra.sources import Engine
from infra.stack import down, up
from infra.state import read_state
from infra.status import status
from infra.stopping import living_servers
from tests.stack.conftest import Stack, settings_of

DEADLINE_S = 90
UP = "from infra.stack import up; from lakehouse.config import Settings; "
UP += "up(Settings.from_environment(), sources=('inventory',), airflow=False)"


def test_everything_listens_on_loopback_only(stack: Stack):
    pids = set().union(*living_servers(stack.home).values())
    listening = listening_addresses(pids)
    assert {address for address, _ in listening} == {"127.0.0.1"}
    ports = stack.state.ports
    brokers = ("kafka", "kafka:controller", "kafka:logins")
    needed = (*brokers, "connect", "postgresql", "mysql", "mariadb")
    assert {ports[name] for name in needed} <= {port for _, port in listening}
    assert {port for _, port in listening} <= set(ports.values())


def listening_addresses(pids: set[int]) -> set[tuple[str, int]]:
    """What sockets of these processes listen on, from /proc (state 0A is LISTEN)."""
    inodes = set()
    for pid in pids:
        # One that has ended meanwhile listens nowhere.
        with suppress(FileNotFoundError):
            inodes |= set(sockets_of(pid))
    found = set()
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, port = fields[1].split(":")
                found.add((readable(address, family), int(port, 16)))
    return found


def sockets_of(pid: int) -> Iterator[str]:
    """What the descriptors of a process are."""
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            yield str(descriptor.readlink())


def readable(address: str, family: socket.AddressFamily) -> str:
    words = [bytes.fromhex(address[at : at + 8])[::-1] for at in range(0, len(address), 8)]
    return socket.inet_ntop(family, b"".join(words)).removeprefix("::ffff:")


@pytest.mark.parametrize("engine", [Engine.MYSQL, Engine.MARIADB])
def test_databases_share_no_temporary_folder(stack: Stack, engine: Engine):
    """A server that starts removes other servers' `#sql…` files from the folder that it uses."""
    database = binlog.admin(stack.home, engine, stack.state.ports[engine])
    ((folder,),) = query(database, "SELECT @@tmpdir")
    assert Path(folder) == stack.home.scratch(engine)
    assert not stack.home.scratch(engine).is_relative_to(stack.home.data(engine))


def test_up_again_starts_nothing_new(stack: Stack):
    before = stack.state.processes
    lines: list[str] = []
    up(stack.settings, airflow=False, report=lines.append)
    assert stack.state.processes == before
    assert [line for line in lines if "runs already" in line]


def test_files_with_secrets_are_closed_to_others(stack: Stack):
    secret_files = [stack.home.state_file, *stack.home.secrets.iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in secret_files} == {0o600}
    assert stat.S_IMODE(stack.home.secrets.stat().st_mode) == 0o700


def test_no_password_is_in_logs_arguments_or_connector_configurations(stack: Stack):
    passwords = stack.home.passwords().values()
    shown = [file.read_text(errors="replace") for file in stack.home.logs.iterdir()]
    shown += [
        Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
        for pid in set().union(*living_servers(stack.home).values())
    ]
    shown += [json.dumps(stack.connect.config(name)) for name in stack.connect.connectors()]
    segments = (stack.home.data("kafka") / "connect-config-0").glob("*.log")
    shown += [file.read_bytes().decode(errors="replace") for file in segments]
    for password in passwords:
        assert not [text for text in shown if password in text]


def test_status_tells_servers_connectors_and_lag(stack: Stack):
    stack.barrier("shop")
    found = status(stack.settings)
    running = {server.name for server in found.servers if server.is_running}
    assert running >= {"kafka", "connect", "postgresql", "mysql", "mariadb"}
    assert {(connector.name, connector.is_running) for connector in found.connectors} == {
        ("inventory", True),
        ("shop", True),
        ("warehouse", True),
    }
    lags = {lag.source: lag for lag in found.lags}
    products = {lag.table: lag for lag in lags["shop"].tables}["shop.shop.products"]
    assert (lags["shop"].cut, lags["shop"].unseen, products.messages) == ("", "", 60)
    assert products.waits_since is not None
    assert None not in {lag.heartbeat for lag in lags.values()}
    assert not found.problems


def test_a_killed_stack_starts_again_and_loses_nothing(stack: Stack):
    stack.run("inventory", "INSERT INTO locations VALUES ('K1', 'Kiel', '09:00', '1 day')")
    stack.run("shop", "INSERT INTO categories VALUES (801, NULL, 'Kiel')")
    stack.run("warehouse", "INSERT INTO sites VALUES (801, 'K1', 'Kiel', NULL, NULL, NULL)")
    ports = dict(stack.state.ports)
    with_airflow = stack.state.airflow is not None
    for pid in set().union(*living_servers(stack.home).values()):
        with suppress(ProcessLookupError):  # Some end as soon as their server does.
            os.kill(pid, signal.SIGKILL)
    await_true(lambda: not living_servers(stack.home))
    assert not [server for server in status(stack.settings).servers if server.is_running]
    # What a killed PostgreSQL leaves; the id is another process's by now.
    pid_file = stack.home.data("postgresql") / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")

    up(stack.settings, airflow=with_airflow)

    assert stack.state.ports == ports
    stack.run("inventory", "INSERT INTO locations VALUES ('K2', 'Kiel', '09:00', '1 day')")
    stack.run("shop", "INSERT INTO categories VALUES (802, NULL, 'Kiel')")
    stack.run("warehouse", "INSERT INTO sites VALUES (802, 'K2', 'Kiel', NULL, NULL, NULL)")
    for topic, keys in {
        "inventory.public.locations": ({"code": "K1"}, {"code": "K2"}),
        "shop.shop.categories": ({"id": 801}, {"id": 802}),
        "warehouse.warehouse.sites": ({"id": 801}, {"id": 802}),
    }.items():
        for key in keys:
            messages = stack.kafka.await_key(topic, key, lambda some: len(some) >= 1)
            # A connector that was killed before its first offsets were kept reads all anew.
            assert {message.op for message in messages} <= {"c", "r"}


def test_down_leaves_no_process_no_port_and_no_lock(tmp_path: Path):
    settings = settings_of(tmp_path)
    home = StackHome(tmp_path)
    up(settings, sources=("inventory",), airflow=False)
    ports = read_state(home).ports
    stopped = down(settings)
    assert set(stopped) == {"kafka", "connect", "postgresql"}
    assert not living_servers(home)
    assert not stack_pids(home.stack_id())
    assert not home.state_file.exists()
    for port in ports.values():
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0
    with home.locked():
        assert choose_ports(ports, ports) == ports
    assert down(settings) == ()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_up_leaves_nothing_that_down_does_not_find(
    request: pytest.FixtureRequest, tmp_path: Path, number: signal.Signals
):
    settings = settings_of(tmp_path)
    request.addfinalizer(lambda: down(settings))
    home = StackHome(tmp_path)
    environment = {
        **os.environ,
        "LAKEHOUSE_HOME": str(settings.home),
        "LAKEHOUSE_SOURCES": str(settings.sources),
    }
    with subprocess.Popen(
        [sys.executable, "-c", UP], env=environment, stderr=subprocess.DEVNULL
    ) as starting:
        await_true(lambda: home.was_used and "kafka" in living_servers(home))
        starting.send_signal(number)
        assert starting.wait(DEADLINE_S) != 0
    if number is signal.SIGINT:
        assert not living_servers(home)
    else:
        assert "kafka" in down(settings)
    assert not living_servers(home)
    assert not stack_pids(home.stack_id())


def await_true(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"not true after {DEADLINE_S} s"
        time.sleep(0.05)
