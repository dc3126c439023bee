"""Free loopback ports for the servers of the stack."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from infra.errors import StackError

LOOPBACK = "127.0.0.1"
# Below the range from which Linux takes the ports of outgoing connections (32768 on), so that
# no connection takes a port between its choice and the server's start.
_RANGE = range(20_000, 32_000)
_TRIES = 2_000


def remembered_ports(file: Path) -> dict[str, int]:
    """The ports of the last start, by name; empty if there was none."""
    if not file.exists():
        return {}
    return {str(name): int(port) for name, port in json.loads(file.read_text("utf-8")).items()}


def choose_ports(names: Iterable[str], remembered: Mapping[str, int]) -> dict[str, int]:
    """A free port for each name: the remembered one if it is still free, else another.

    Raises:
        StackError: no free port was found.
    """
    chosen: dict[str, int] = {}
    taken = set(remembered.values())
    for name in names:
        port = remembered.get(name)
        if port is None or not is_free(port):
            port = _free_port(taken | set(chosen.values()))
        chosen[name] = port
    return chosen


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose closed connections linger is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def _free_port(taken: set[int]) -> int:
    for _ in range(_TRIES):
        port = random.choice(_RANGE)  # noqa: S311
        if port not in taken and is_free(port):
            return port
    raise StackError(
        f"No free port between {_RANGE.start} and {_RANGE.stop - 1} on {LOOPBACK} after "
        f"{_TRIES} tries: expected at least one; stop servers that are no longer needed"
    )


def write_ports(file: Path, ports: Mapping[str, int]) -> None:
    """Remember the ports for the next start."""
    file.write_text(json.dumps(dict(ports), indent=2) + "\n", encoding="utf-8")
