"""How runs of the Dags end: Airflow runs the tasks, a stand-in records what Spark would."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dags.conftest import HERE, SOURCES, airflow_environment

STEPS = ["land", "check", "apply", "validate", "publish"]
ALL_WELL = dict.fromkeys(STEPS, "succeeded")
SECRET = "n0t-t0-be-seen"
CONNECTION = {
    "conn_type": "kafka",
    "extra": {"bootstrap.servers": "broker:9092", "sasl.password": SECRET},
}
# What each call of the application leaves in quality.runs.
PLANS = {
    "all_well": [ALL_WELL],
    "apply_fails": [{"land": "succeeded", "check": "succeeded", "apply": "failed"}],
    "killed_after_check": [
        {"land": "succeeded", "check": "succeeded"},
        {"apply": "derived", "validate": "succeeded", "publish": "succeeded"},
    ],
    "superseded": [{**ALL_WELL, "publish": "superseded"}],
    "landing_refused": [{"land": "failed"}],
    # Published, and then the second time through failed at apply.
    "not_derived": [
        {"land": "succeeded", "check": "succeeded", "apply": "succeeded", "validate": "succeeded"},
        {"apply": "failed", "publish": "succeeded"},
    ],
}
FULL_PLANS = {
    "all_rows_well": [{"validate": "succeeded"}],
    "all_rows_refused": [{"validate": "refused"}],
}
REBUILD_PLANS = {
    "tables_differ": [{"apply": "staged", "validate": "succeeded", "publish": "succeeded"}],
    "tables_are_equal": [{"apply": "succeeded"}],
    "killed_before_publish": [{"apply": "staged", "validate": "succeeded"}, {"publish": "staged"}],
}
FORM = {"tables": ["public.orders", "{{ x }}"], "undo": False}
MAINTENANCE_PLANS = {
    "not_maintained": [
        {"maintain": "succeeded"},
        {"maintain": "failed"},
        {"maintain": "succeeded"},
    ],
}
ALL_PLANS = {**PLANS, **FULL_PLANS, **MAINTENANCE_PLANS, **REBUILD_PLANS}
DAG_OF = (
    dict.fromkeys(PLANS, "ingest_inventory")
    | dict.fromkeys(FULL_PLANS, "validate_inventory")
    | dict.fromkeys(MAINTENANCE_PLANS, "maintain")
    | dict.fromkeys(REBUILD_PLANS, "rebuild_inventory")
)
ALERTS = """
[alerts]
notifier  = "tests.dags.told.Told"
arguments = { text = "{{ alert }}" }
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def environment(home) -> dict[str, str]:
    """Variables under which a stand-in takes the place of spark-submit."""
    binaries = home / "bin"
    binaries.mkdir()
    submit = binaries / "spark-submit"
    script = HERE / "recording_application.py"
    # Like the real one it skips its own options up to the application.
    submit.write_text(
        f'#!/bin/sh\nwhile [ "${{1%.py}}" = "$1" ]; do shift; done; shift\n'
        f'exec {sys.executable} {script} "$@"\n'
    )
    submit.chmod(0o755)
    (home / "lakehouse" / "warehouse").mkdir(parents=True)
    shutil.copytree(SOURCES, home / "sources")
    for path in (home / "sources").glob("*.toml"):
        late = 'freshness = "30m"' if path.stem == "shop" else ""
        path.write_text(path.read_text() + ALERTS + late)
    return {
        **airflow_environment(home),
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "LAKEHOUSE_SOURCES": str(home / "sources"),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": str(home / "lineage.jsonl"), "append": True}
        ),
        "SPARK_SUBMIT_OPTS": "-Xss2m -XX:TieredStopAtLevel=1",
        "GAUGES": str(home / "gauges.jsonl"),
        "TOLD": str(home / "told.jsonl"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(
            {"conn_type": "spark", "host": "local[1]", "extra": {"deploy-mode": "client"}}
        ),
        "AIRFLOW_CONN_KAFKA_INVENTORY": json.dumps(CONNECTION),
    }


@pytest.fixture(scope="module")
def ended(home, environment):
    """The runs of all plans, by the plan's name."""
    for name, plan in ALL_PLANS.items():
        (home / name).mkdir()
        if name in REBUILD_PLANS:
            (home / name / "form.json").write_text(json.dumps(FORM))
        (home / name / "plan.json").write_text(json.dumps(plan))
    for command in (
        [sys.executable, "-m", "airflow", "db", "migrate"],
        [
            sys.executable,
            str(HERE / "run_dag.py"),
            *(f"{dag}={home / name}" for name, dag in DAG_OF.items()),
        ],
    ):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=900
        )
        (home / "output.txt").write_text(done.stdout + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def calls(home, name):
    paths = sorted((home / name / "calls").iterdir())
    return [json.loads(path.read_text()) for path in paths]


def test_one_application_serves_all_five_tasks(ended, home):
    assert ended["all_well"]["state"] == "success"
    assert set(ended["all_well"]["tasks"].values()) == {"success"}
    assert len(calls(home, "all_well")) == 1


def test_a_failed_step_fails_its_own_task_and_no_later_one_runs(ended):
    assert ended["apply_fails"]["state"] == "failed"
    assert ended["apply_fails"]["tasks"] == {
        "land": "success",
        "check": "success",
        "apply": "failed",
        "validate": "upstream_failed",
        "publish": "upstream_failed",
    }


def test_the_notifier_is_told_of_each_failed_task_and_late_run_and_of_nothing_else(ended, home):
    told = [json.loads(line) for line in (home / "told.jsonl").read_text().splitlines()]
    assert told.pop() == (
        "ingest_shop: run scheduled__1 has not published 30m after it was queued: it is running"
    )
    assert told.pop().startswith("maintain: ")
    assert told == [
        f"{dag}_inventory: {step} failed in run {ended[plan]['run_id']}: {what}: 7 messages"
        for dag, plan, step, what in (
            ("ingest", "apply_fails", "apply", "apply failed"),
            ("ingest", "superseded", "publish", "publish superseded"),
            ("ingest", "landing_refused", "land", "land failed"),
            ("ingest", "not_derived", "publish", "apply failed"),
            ("validate", "all_rows_refused", "validate", "validate refused"),
        )
    ]


def test_the_figures_of_each_step_are_metrics_of_airflow(ended, home):
    lines = [json.loads(line) for line in (home / "gauges.jsonl").read_text().splitlines()]
    ours = [line for line in lines if line[0].startswith("lakehouse.")]
    values = {name: value for name, value, _ in ours}
    assert {f"lakehouse.inventory.{step}.messages" for step in STEPS} <= values.keys()
    assert values["lakehouse.inventory.apply.seconds"] == 1.5
    assert values["lakehouse.inventory.apply.applied"] == 5
    assert values["lakehouse.inventory.apply.per_second"] == pytest.approx(5 / 1.5)
    assert values["lakehouse.inventory.land.per_second"] == pytest.approx(7 / 1.5)
    assert ours[0][2] == {"source": "inventory", "step": "land"}


def test_what_waits_for_each_table_is_a_metric_of_airflow(ended, home):
    lines = [json.loads(line) for line in (home / "gauges.jsonl").read_text().splitlines()]
    values = {name: (value, tags) for name, value, tags in lines if ".lag." in name}
    source, table = {"source": "inventory"}, {"source": "inventory", "table": "public__orders"}
    assert values == {
        "lakehouse.inventory.lag.messages": (9, source),
        "lakehouse.inventory.lag.seconds": (90.0, source),
        "lakehouse.inventory.lag.public__orders.messages": (9, table),
        "lakehouse.inventory.lag.public__orders.seconds": (90.0, table),
        "lakehouse.inventory.lag.public__items.messages": (0, {**table, "table": "public__items"}),
        "lakehouse.inventory.lag.public__items.seconds": (0.0, {**table, "table": "public__items"}),
    }


def test_openlineage_is_told_what_was_read_and_written(ended, home):
    events = [json.loads(line) for line in (home / "lineage.jsonl").read_text().splitlines()]
    told = {
        event["job"]["name"]: event
        for event in events
        if event["eventType"] == "COMPLETE" and "." in event["job"]["name"]
    }
    landed, published = told["ingest_inventory.land"], told["ingest_inventory.publish"]
    assert [(each["namespace"], each["name"]) for each in landed["inputs"]] == [
        ("kafka://broker:9092", "shop.orders"),
        ("kafka://broker:9092", "shop.items"),
    ]
    [bronze] = landed["outputs"]
    assert (bronze["namespace"], bronze["name"]) == (
        f"file://{home}/lakehouse/warehouse",
        "bronze.inventory",
    )
    assert bronze["outputFacets"]["outputStatistics"]["rowCount"] == 7
    assert [each["name"] for each in published["inputs"]] == ["bronze.inventory"]
    assert {
        each["name"]: each["facets"]["version"]["datasetVersion"] for each in published["outputs"]
    } == {"silver_inventory.orders": "11", "silver_inventory.orders__state": "12"}


def test_a_step_without_a_row_is_submitted_from_there_on(ended, home):
    assert ended["killed_after_check"]["state"] == "success"
    [first, second] = calls(home, "killed_after_check")
    for call, step in ((first, "land"), (second, "apply")):
        assert call["arguments"][call["arguments"].index("--from-step") + 1] == step


def test_the_note_of_a_run_says_what_a_backfill_changed_and_of_no_other_run(ended, environment):
    # `dag.test` has no scheduler, which is who tells listeners.
    told = subprocess.run(
        [sys.executable, str(HERE / "note_runs.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert json.loads(told.stdout.splitlines()[-1]) == {
        ended["killed_after_check"]["run_id"]: "apply derived: 7 messages"
    }


def test_a_step_that_was_submitted_alone_fails_where_the_backfill_behind_it_does(ended, home):
    assert ended["not_derived"]["tasks"]["publish"] == "failed"
    assert len(calls(home, "not_derived")) == 2


def test_a_superseded_run_is_not_shown_as_a_success(ended):
    assert ended["superseded"]["state"] == "failed"
    assert ended["superseded"]["tasks"]["publish"] == "failed"


def test_a_run_that_did_not_land_fails_at_landing(ended):
    assert ended["landing_refused"]["state"] == "failed"
    assert ended["landing_refused"]["tasks"]["land"] == "failed"


def test_a_full_validation_is_a_run_of_its_own_and_fails_where_a_table_does(ended, home):
    assert ended["all_rows_well"]["tasks"] == {"validate": "success"}
    assert ended["all_rows_refused"]["tasks"] == {"validate": "failed"}
    [call] = calls(home, "all_rows_well")
    named = dict(itertools.pairwise(call["arguments"]))
    assert named["--run-id"] == f"full__{ended['all_rows_well']['run_id']}"


def test_maintenance_is_a_run_of_its_own_and_one_source_s_failure_stops_no_other(ended, home):
    states = list(ended["not_maintained"]["tasks"].values())
    assert sorted(states) == ["failed", *["success"] * (len(states) - 1)]
    for call in calls(home, "not_maintained"):
        named = dict(itertools.pairwise(call["arguments"]))
        assert named["--run-id"] == f"maintain__{ended['not_maintained']['run_id']}"


def test_one_application_rebuilds_validates_and_publishes_what_the_form_names(ended, home):
    assert ended["tables_differ"]["tasks"] == dict.fromkeys(
        ("rebuild", "validate", "publish"), "success"
    )
    [call] = calls(home, "tables_differ")
    named = dict(itertools.pairwise(call["arguments"]))
    assert named["--run-id"] == f"rebuild__{ended['tables_differ']['run_id']}"
    assert named["--from-step"] == "apply"
    assert call["arguments"][-3:] == ["--rebuild", "--table=public.orders", "--table={{ x }}"]


def test_a_rebuild_that_finds_its_tables_equal_ends_well_with_nothing_to_publish(ended, home):
    assert ended["tables_are_equal"]["state"] == "success"
    assert len(calls(home, "tables_are_equal")) == 1


def test_a_rebuild_that_was_killed_goes_on_where_it_ended(ended, home):
    assert ended["killed_before_publish"]["state"] == "success"
    [_, second] = calls(home, "killed_before_publish")
    named = dict(itertools.pairwise(second["arguments"]))
    assert named["--from-step"] == "publish"
    assert "--rebuild" in second["arguments"]


def test_run_id_start_and_end_of_interval_reach_the_application(ended, home):
    arguments = calls(home, "all_well")[0]["arguments"]
    named = dict(itertools.pairwise(arguments))
    assert named["--run-id"] == ended["all_well"]["run_id"]
    for name in ("--run-started", "--until"):
        assert named[name].endswith("+00:00")
    assert "--from=" in arguments


def test_java_has_both_compilers_where_many_messages_may_wait(ended, home):
    java = {name: [call["java"] for call in calls(home, name)] for name in ALL_PLANS}
    # Nothing tells how many the first run finds, or a rebuild.
    assert java["all_well"] == ["-Xss2m"]
    assert java["tables_differ"] == ["-Xss2m"]
    assert java["apply_fails"] == ["-Xss2m -XX:TieredStopAtLevel=1"]
    assert set(java["not_maintained"]) == {"-Xss2m -XX:TieredStopAtLevel=1"}


def test_the_secret_reaches_what_asks_kafka_through_its_environment_alone(ended, home):
    for call in calls(home, "killed_after_check"):
        assert json.loads(call["kafka"])["sasl.password"] == SECRET
        assert SECRET not in json.dumps(call["arguments"])
    assert [call["kafka"] for call in calls(home, "all_rows_refused")] == [None]


def test_no_secret_is_in_the_log_or_in_airflow_s_database(ended, home):
    seen = [path for path in home.rglob("*.log") if SECRET in path.read_text(errors="replace")]
    assert seen == []
    assert SECRET not in (home / "output.txt").read_text()
    with sqlite3.connect(home / "airflow.db") as database:
        dump = "\n".join(database.iterdump())
    assert "rendered_task_instance_fields" in dump
    assert SECRET not in dump


def test_the_step_s_numbers_and_message_are_handed_on(ended, home):
    with sqlite3.connect(home / "airflow.db") as database:
        handed = dict(
            database.execute(
                "SELECT task_id, value FROM xcom WHERE key = 'return_value' AND run_id = ?",
                [ended["all_well"]["run_id"]],
            )
        )
    assert sorted(handed) == sorted(STEPS)
    assert "publish succeeded: 7 messages" in handed["publish"]
    assert "cut-1" in handed["publish"]


@pytest.fixture(scope="module")
def decided(home, environment, ended):
    """What Dags make of each form, and the decisions that were recorded."""
    assert ended
    done = subprocess.run(
        [sys.executable, str(HERE / "run_forms.py")],
        env={**environment, "PYTHONPATH": f"{environment['PYTHONPATH']}:{HERE.parents[1]}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.further
def test_a_form_records_a_decision_in_the_name_of_who_sent_it(decided):
    assert decided["runs"]["rejected"]["state"] == "success"
    assert decided["runs"]["mapped"]["state"] == "success"
    assert "may go on" not in decided["runs"]["rejected"]["said"]
    assert "rename_column" in decided["runs"]["mapped"]["said"]
    assert [tuple(row) for row in decided["rows"]] == [
        ("policy", "evolve", ["create_table"]),
        ("policy", "hold", ["add_column", "drop_column"]),
        ("dag_test", "hold", ["add_column", "drop_column"]),
        ("dag_test", "evolve", ["rename_column"]),
    ]


def test_a_decision_about_a_table_that_is_not_held_fails_with_the_sentence(decided):
    assert decided["runs"]["stranger"]["state"] == "failed"
    assert "expected one that is held" in decided["runs"]["stranger"]["output"]


def test_a_signal_that_cannot_be_sent_fails_with_the_sentence_and_nothing_is_followed(decided):
    assert decided["runs"]["unreachable"]["state"] == "failed"
    assert "expected it in LAKEHOUSE_CONNECT" in decided["runs"]["unreachable"]["output"]
    assert "expected nothing with 'pause'" in decided["runs"]["misfit"]["output"]


def test_a_key_changes_only_once_the_table_is_drained_and_says_what_is_missing(decided):
    assert decided["runs"]["rekeyed"]["state"] == "failed"
    assert "expected LAKEHOUSE_DATABASE as a JSON" in decided["runs"]["rekeyed"]["output"]
