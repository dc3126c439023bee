"""A Spark standalone cluster of real processes: a master and workers, each with one executor."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyspark

from infra.ports import LOOPBACK, choose_ports
from infra.setup.classes import class_path
from infra.spark import spark_environment
from tests.support.processes import command_lines, parent

_REPOSITORY = Path(__file__).resolve().parents[2]
_DEADLINE_S = 60
_CLASSES = "org.apache.spark.deploy"
_EXECUTOR_MB = 600
_NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Cluster:
    """A cluster that runs.

    Attributes:
        folder: Its logs, its work, and `conf` for those who submit to it.
        workers: Their processes.
    """

    folder: Path
    workers: tuple[subprocess.Popen[bytes], ...]

    def variables(self, home: Path) -> dict[str, str]:
        """The environment of an application of the cluster."""
        return spark_environment(home) | {"SPARK_CONF_DIR": str(self.folder / "conf")}

    def executors(self) -> list[int]:
        """The executors that live."""
        workers = {worker.pid for worker in self.workers}
        return [
            pid
            for pid, line in command_lines().items()
            if b"CoarseGrainedExecutorBackend" in line and parent(pid) in workers
        ]

    def await_executors(self) -> list[int]:
        """The executors, once there is one for each worker."""
        until = time.monotonic() + _DEADLINE_S
        while len(found := self.executors()) < len(self.workers):
            assert time.monotonic() < until, f"executors {found}: expected {len(self.workers)}"
            time.sleep(0.1)
        return found

    def kill_executor(self) -> None:
        """SIGKILL of one executor, once there is one for each worker."""
        os.kill(self.await_executors()[0], signal.SIGKILL)

    def starve_executor(self) -> None:
        """One executor gets no more memory from the system, not even for a thread's stack."""
        pid = self.await_executors()[0]
        has = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
        resource.prlimit(pid, resource.RLIMIT_AS, (has * resource.getpagesize(),) * 2)

    def kill_worker(self) -> None:
        """SIGKILL of one worker with its executors."""
        os.killpg(self.workers[0].pid, signal.SIGKILL)

    def kill_executors(self) -> None:
        """SIGKILL of every executor that there is: whichever has a task, loses it."""
        for pid in self.executors():
            os.kill(pid, signal.SIGKILL)


@contextmanager
def cluster(
    folder: Path, home: Path, workers: int = 2, settings: Mapping[str, str] = _NO_SETTINGS
) -> Iterator[Cluster]:
    """Start a cluster; it ends with the block.

    Args:
        folder: Becomes its own.
        home: Of the applications.
        workers: How many, of one core each.
        settings: More of what its applications find in `spark-defaults.conf`, or others.
    """
    (folder / "conf").mkdir(parents=True)
    port = choose_ports(["master"], {})["master"]
    url = f"spark://{LOOPBACK}:{port}"
    environment = os.environ | spark_environment(home)
    environment |= {
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "256m",
        # Else the master gives an application up whose executors die a few times.
        "SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1",
    }
    begun = Path(environment["SPARK_CONF_DIR"]) / "spark-defaults.conf"
    defaults = dict(line.split(" ", 1) for line in begun.read_text().splitlines())
    defaults |= {**_defaults(url, home, _wheel(folder)), **settings}
    text = "".join(f"{name} {value}\n" for name, value in defaults.items())
    (folder / "conf" / "spark-defaults.conf").write_text(text, encoding="utf-8")
    with ExitStack() as stack:

        def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
            return stack.enter_context(_daemon(folder / f"{name}.log", environment, arguments))

        named = ("--host", LOOPBACK, "--port", str(port), "--webui-port", "0")
        start("master", f"{_CLASSES}.master.Master", *named)
        of_worker = ("--cores", "1", "--memory", f"{_EXECUTOR_MB}m", "--webui-port", "0")
        of_worker += ("--work-dir", str(folder / "work"), url)
        begun_workers = [
            start(f"worker{number}", f"{_CLASSES}.worker.Worker", "--host", host, *of_worker)
            for number, host in enumerate(_hosts(workers))
        ]
        for number in range(workers):
            _await(folder / f"worker{number}.log", "Successfully registered with master")
        yield Cluster(folder, tuple(begun_workers))


def _hosts(count: int) -> list[str]:
    """Addresses of this machine, one each: a task is begun a second time on another host alone."""
    return [f"127.0.0.{number}" for number in range(1, count + 1)]


def _defaults(url: str, home: Path, wheel: Path) -> dict[str, str]:
    jars = class_path(Path(pyspark.__file__).parents[1])
    return {
        "spark.master": url,
        "spark.executor.memory": f"{_EXECUTOR_MB}m",
        "spark.executor.cores": "1",
        "spark.executor.extraClassPath": os.pathsep.join(map(str, jars)),
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        # What `docs/clusters.md` says of the code that Python's workers need.
        "spark.files": str(wheel),
        "spark.executorEnv.PYTHONPATH": wheel.name,
        "spark.speculation": "true",
        "spark.local.dir": str(home / "spark" / "tmp"),
    }


def _wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=_REPOSITORY, check=True, capture_output=True)
    [built] = folder.glob("*.whl")
    return built


@contextmanager
def _daemon(
    log: Path, environment: dict[str, str], arguments: tuple[str, ...]
) -> Iterator[subprocess.Popen[bytes]]:
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), *arguments]
    with log.open("wb") as written:
        process = subprocess.Popen(
            command, env=environment, stdout=written, stderr=written, start_new_session=True
        )
    try:
        yield process
    finally:
        # A worker's executors are of its session.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _await(log: Path, sentence: str) -> None:
    until = time.monotonic() + _DEADLINE_S
    while sentence not in log.read_text(encoding="utf-8", errors="replace"):
        assert time.monotonic() < until, f"{log}: expected {sentence!r}"
        time.sleep(0.2)
