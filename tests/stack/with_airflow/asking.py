"""Requests to Airflow as a person's own program sends them, and waiting for what comes of them."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from infra.airflow_api import AirflowApi
from infra.state import AirflowAddress

_POLL_S = 0.5
Found = TypeVar("Found")


def call(url: str, *, body: dict | None = None, token: str | None = None) -> dict[str, Any]:
    """A request and its answer."""
    headers = {"Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.loads(answer.read())


def send(api: AirflowApi, method: str, path: str, body: dict[str, object] | None = None) -> None:
    """Make something, change it or take it away."""
    request = urllib.request.Request(
        f"{api.url}/api/v2/{path}",
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {api.token}"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        answer.read()


def status(url: str, **more: Any) -> int:
    """How a request is answered."""
    try:
        call(url, **more)
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code
    except json.JSONDecodeError:
        pass  # A page.
    return 200


def password_of(airflow: AirflowAddress, user: str) -> str:
    """The password of one of those who have one."""
    return json.loads(Path(airflow.password_file).read_text())[user]


def token_of(airflow: AirflowAddress, user: str) -> str:
    """Log in as one of those who have a password."""
    login = {"username": user, "password": password_of(airflow, user)}
    return call(f"{airflow.url}/auth/token", body=login)["access_token"]


def until(
    ask: Callable[[], Found | None], what: str, deadline_s: float = 300, *, poll_s: float = _POLL_S
) -> Found:
    """Ask until there is an answer, for as long as a slow machine may take."""
    deadline = time.monotonic() + deadline_s
    while not (found := ask()):
        assert time.monotonic() < deadline, what
        time.sleep(poll_s)
    return found
