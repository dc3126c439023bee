"""Airflow as four supervised components on PostgreSQL metadata.

Not `airflow standalone`: asked to end, it leaves its children behind, and one log holds all.
The components serve no logs of their own: on one machine the API server reads the files.
"""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from http.client import HTTPException

from infra.airflow import api_url
from infra.errors import NotReady
from infra.servers.server import Server

# Four interpreters that import Airflow at the same time on two cores.
_DEADLINE_S = 300
_ANSWER_S = 10


def airflow_command(*arguments: str) -> tuple[str, ...]:
    """Airflow's command line in the interpreter that runs the stack."""
    return (sys.executable, "-m", "airflow", *arguments)


def airflow_components(api_port: int, environment: Mapping[str, str]) -> tuple[Server, ...]:
    """API server, scheduler, Dag processor and triggerer; the metadata must be migrated."""
    since = datetime.now(UTC)
    url = api_url(api_port)

    def component(name: str, part: str, *arguments: str) -> Server:
        return Server(
            name=f"airflow_{name}",
            command=airflow_command(*arguments),
            environment=environment,
            probe=lambda: _probe(url, part, since),
            deadline_s=_DEADLINE_S,
        )

    return (
        component("api_server", "metadatabase", "api-server"),
        component("scheduler", "scheduler", "scheduler", "--skip-serve-logs"),
        component("dag_processor", "dag_processor", "dag-processor"),
        component("triggerer", "triggerer", "triggerer", "--skip-serve-logs"),
    )


def _probe(url: str, part: str, since: datetime) -> None:
    """Raises NotReady until the API server calls a part healthy, by a heartbeat of this start."""
    found = _health(url).get(part)
    status = found.get("status") if isinstance(found, dict) else None
    if not isinstance(found, dict) or status != "healthy":
        raise NotReady(f"{part} is {status!r}")
    heartbeat = found.get(f"latest_{part}_heartbeat")
    # A killed component looks healthy for a while: its last heartbeat does.
    if isinstance(heartbeat, str) and datetime.fromisoformat(heartbeat) < since:
        raise NotReady(f"the last heartbeat of {part} is from before its start")


def _health(url: str) -> Mapping[str, object]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/v2/monitor/health", timeout=_ANSWER_S) as answer:
            found: Mapping[str, object] = json.loads(answer.read())
            return found
    except (OSError, HTTPException, ValueError) as broken:
        raise NotReady(f"{url}: {broken}") from broken
