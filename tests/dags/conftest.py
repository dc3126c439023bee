"""An Airflow home of its own for the Dag tests, and what Airflow reads from the Dag files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
SOURCES = REPOSITORY / "dags" / "sources"

PAYROLL = 'connector = "mysql"\ntopic_prefix = "payroll"\n'
ONE_TASK_EACH = """
connector = "postgresql"
topic_prefix = "pay.roll"
[schedule]
interval = "@hourly"
start = 2025-02-03T04:00:00Z
isolation = "task"
timeout = "2h"
[kafka]
topics = ['pay\\.roll\\..{{2}}', '{%.*']
[alerts]
notifier = "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
arguments = { to = "data@example.org", subject = "{{ dag.dag_id }}" }
freshness = "30m"
[snapshot]
raw_conditions = true
[tables."hr.staff"]
[tables."hr.pay"]
"""


def airflow_environment(home: Path) -> dict[str, str]:
    """Variables under which Airflow uses nothing outside `home`."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(REPOSITORY / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(REPOSITORY / "infra" / "airflow_plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
        "LAKEHOUSE_HOME": str(home / "lakehouse"),
        "LAKEHOUSE_CATALOG_URI": "",
        "LAKEHOUSE_WAREHOUSE": "",
        "PYTHONPATH": os.pathsep.join(str(REPOSITORY / part) for part in ("jobs", ".")),
    }


@pytest.fixture(scope="session")
def airflow_home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("airflow")


def printed_by(script, *arguments, env):
    """The JSON of the last line that a script of this folder prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session")
def reading(airflow_home):
    """What Airflow reads with the project's own sources, with one task each, and with errors."""
    folders = [SOURCES]
    for name, text in (
        ("task", ONE_TASK_EACH),
        ("unknown_key", PAYROLL + 'topix = "a"\n'),
        ("no_toml", PAYROLL + "schedule = \n"),
        ("no_notifier", PAYROLL + '[alerts]\nnotifier = "no.such.Notifier"\n'),
        ("no_prefix", "topic_prefix = \n"),
    ):
        folders.append(airflow_home / name)
        folders[-1].mkdir()
        (folders[-1] / "payroll.toml").write_text(text)
        if name != "task":
            (folders[-1] / "shop.toml").write_text(PAYROLL.replace("payroll", "shop"))
    return printed_by("parse_dags.py", *map(str, folders), env=airflow_environment(airflow_home))


@pytest.fixture(scope="session")
def project_dags(reading):
    assert reading["parsed"][0]["import_errors"] == {}
    return reading["parsed"][0]["dags"]


@pytest.fixture(scope="session")
def task_dag(reading):
    assert reading["parsed"][1]["import_errors"] == {}
    return reading["parsed"][1]["dags"]["ingest_payroll"]
