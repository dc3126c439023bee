"""Kafka Connect's REST interface, as far as the stack needs it.

https://kafka.apache.org/documentation/#connect_rest
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException

from infra.errors import NotReady, StackError

_TIMEOUT_S = 10
_CAUSE = "Caused by: "
# A proxy of the environment is not for loopback addresses.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """State of a connector and its tasks; `trace` is the first failure's stack trace or ''."""

    name: str
    connector: str
    tasks: tuple[str, ...]
    trace: str

    @property
    def is_running(self) -> bool:
        """Whether the connector and all its tasks run; it has at least one task then."""
        return self.connector == "RUNNING" and set(self.tasks) == {"RUNNING"}

    @property
    def reason(self) -> str:
        """What the first failure says, and what caused it; empty for none."""
        first, *rest = self.trace.splitlines() or [""]
        causes = [line.removeprefix(_CAUSE) for line in rest if line.startswith(_CAUSE)]
        return f"{first}, caused by {causes[-1]}" if causes else first

    @property
    def has_failed(self) -> bool:
        """Whether the connector or a task needs a restart."""
        return "FAILED" in (self.connector, *self.tasks)


@dataclass(frozen=True, slots=True)
class ConnectApi:
    """A worker's REST interface.

    Each method raises NotReady when it gives no answer, StackError when the request is wrong.
    """

    url: str

    def plugins(self) -> set[str]:
        """The classes of the loaded connector plugins."""
        return set(self.versions())

    def versions(self) -> dict[str, str]:
        """Class of each loaded connector plugin → its version."""
        found = self._call("GET", "/connector-plugins")
        plugins = found if isinstance(found, list) else []
        return {str(plugin["class"]): str(plugin.get("version", "")) for plugin in plugins}

    def connectors(self) -> tuple[str, ...]:
        """The names of the registered connectors, sorted."""
        found = self._call("GET", "/connectors")
        return tuple(sorted(map(str, found))) if isinstance(found, list) else ()

    def register(self, name: str, config: Mapping[str, str]) -> None:
        """Create a connector or change its configuration."""
        self._call("PUT", f"/connectors/{name}/config", config)

    def config(self, name: str) -> dict[str, str]:
        """A connector's configuration; passwords are references into a file."""
        found = self._call("GET", f"/connectors/{name}/config")
        if not isinstance(found, dict):
            return {}
        return {str(key): str(value) for key, value in found.items()}

    def status(self, name: str) -> ConnectorStatus:
        """The state of a connector and its tasks."""
        found = self._call("GET", f"/connectors/{name}/status")
        if not isinstance(found, dict):
            raise NotReady(f"connector {name!r} has no status yet")
        parts = [found["connector"], *found["tasks"]]
        return ConnectorStatus(
            name=name,
            connector=str(parts[0]["state"]),
            tasks=tuple(str(task["state"]) for task in parts[1:]),
            trace=next((str(part["trace"]) for part in parts if part.get("trace")), ""),
        )

    def offsets(self, name: str) -> tuple[dict[str, object], ...]:
        """How far a connector has read, as it stores it itself; one for each of its partitions."""
        found = self._call("GET", f"/connectors/{name}/offsets")
        entries = found.get("offsets", []) if isinstance(found, dict) else []
        return tuple(dict(entry["offset"] or {}) for entry in entries)

    def restart(self, name: str) -> None:
        """Restart the connector and its failed tasks."""
        self._call("POST", f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true")

    def stop(self, name: str) -> None:
        """Stop the connector's tasks; its offsets can be changed then."""
        self._call("PUT", f"/connectors/{name}/stop")

    def resume(self, name: str) -> None:
        """Let a stopped or paused connector run again."""
        self._call("PUT", f"/connectors/{name}/resume")

    def delete(self, name: str) -> None:
        """Remove the connector; its offsets stay."""
        self._call("DELETE", f"/connectors/{name}")

    def delete_offsets(self, name: str) -> None:
        """Forget how far a stopped connector has read: its next start takes a source snapshot."""
        self._call("DELETE", f"/connectors/{name}/offsets")

    def _call(self, method: str, path: str, body: Mapping[str, str] | None = None) -> object:
        # Only ever the stack's own address.
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as answer:
                text = answer.read()
        except urllib.error.HTTPError as refused:
            reason = refused.read().decode(errors="replace")
            if refused.code == HTTPStatus.BAD_REQUEST:
                raise StackError(
                    f"Kafka Connect refused {method} {path}: expected a valid configuration: "
                    f"{reason}"
                ) from refused
            raise NotReady(f"{method} {path}: {refused.code} {reason}") from refused
        except (OSError, HTTPException) as broken:
            raise NotReady(f"{method} {self.url}{path}: {broken}") from broken
        return json.loads(text) if text else None
