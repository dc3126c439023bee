"""Every address that the project adds to Airflow, asked in every way by those who may not.

The addresses come from the plugins: a new one is tested without a line here, unless it has a part
that `PARTS` does not know.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import httpx
import pytest

from infra.airflow import VIEWER_USER
from infra.state import AirflowAddress
from tests.stack.conftest import REPOSITORY, Stack
from tests.stack.with_airflow.asking import token_of
from tests.stack.with_airflow.conftest import Ingested

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
PARTS = {"source": "inventory", "path": "index.html", "dag_id": "ingest_inventory"}
# What only those may see who may read the Dag.
SHOWN = re.compile(r"inventory|by_hand|<", re.IGNORECASE)


@dataclass(frozen=True)
class Added:
    """What the plugins tell."""

    paths: tuple[str, ...]
    stranger: str


@pytest.fixture(scope="module")
def added(stack: Stack, airflow: AirflowAddress, ingested: Ingested) -> Added:
    environment = os.environ | {"AIRFLOW_HOME": str(stack.home.airflow)}
    environment["PYTHONPATH"] = os.pathsep.join((str(REPOSITORY / "jobs"), str(REPOSITORY)))
    told = subprocess.run(
        [sys.executable, "-m", "tests.stack.with_airflow.added_routes"],
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    found = json.loads(told.stdout.splitlines()[-1])
    known = {**PARTS, "run_id": ingested.run.run_id}
    filled = (
        re.sub(r"\{(\w+)(?::path)?\}", lambda part: known[part[1]], path)
        for path in found["routes"]
    )
    return Added(tuple(filled), found["stranger"])


def asked(airflow: AirflowAddress, method: str, path: str, token: str | None) -> httpx.Response:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.request(method, airflow.url + path, headers=headers, timeout=60, trust_env=False)


def altered(token: str) -> list[str]:
    """Tokens that nobody has signed."""
    head, body, mark = token.split(".")
    unsigned = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0"
    return ["x", f"{head}.{body}.", f"{unsigned}.{body}.", f"{head}.{body[:-3]}AAA.{mark}"]


def test_no_address_answers_who_has_no_valid_login(
    airflow: AirflowAddress, added: Added, token: str, figure: Callable[[str], None]
) -> None:
    tried = 0
    for path in added.paths:
        for method in METHODS:
            for given in (None, *altered(token)):
                answer = asked(airflow, method, path, given)
                # Of a token that nobody signed Airflow says 403.
                wanted = {401, 403} if method == "GET" else {401, 403, 405}
                assert answer.status_code in wanted, (method, path, given, answer.status_code)
                assert not SHOWN.search(answer.text), (method, path)
                tried += 1
    figure(f"{len(added.paths)} addresses, {tried} requests without a valid login: all refused")
    assert len(added.paths) >= 3


def test_no_address_answers_who_may_not_read_the_dag(
    airflow: AirflowAddress, added: Added, figure: Callable[[str], None]
) -> None:
    codes: dict[str, int] = {}
    for path in added.paths:
        for method in METHODS:
            answer = asked(airflow, method, path, added.stranger)
            codes[f"{method} {path}"] = answer.status_code
            if answer.status_code == 200:
                # The list of sources has none of those that one may not read.
                assert "inventory" not in answer.text, (method, path)
            else:
                assert "<" not in answer.text, (method, path)
    answered = {request for request, code in codes.items() if code not in (403, 405)}
    assert answered == {"GET /lakehouse/"}
    figure(f"{len(codes)} requests of someone without the right to read: no report shown")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
def test_each_answer_forbids_scripts(
    airflow: AirflowAddress, added: Added, token: str, method: str
) -> None:
    for path in added.paths:
        for given in (token, token_of(airflow, VIEWER_USER), added.stranger, None):
            answer = asked(airflow, method, path, given)
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "script-src" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_who_may_read_is_answered(airflow: AirflowAddress, added: Added, token: str) -> None:
    """Else the tests above would hold where nothing answers at all."""
    for path in added.paths:
        assert asked(airflow, "GET", path, token).status_code in (200, 307), path
        assert asked(airflow, "POST", path, token).status_code == 405, path
