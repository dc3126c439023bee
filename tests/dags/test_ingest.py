"""What the Dags are, as Airflow reads them."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Template

DAGS = Path(__file__).resolve().parents[2] / "dags"
SOURCES = sorted(path.stem for path in (DAGS / "sources").glob("*.toml"))
KEY_STEPS = ["pause", "drain", "stop", "change", "follow", "restart", "verify"]
STEPS = ["land", "check", "apply", "validate", "publish"]
MAY_IMPORT = (
    "airflow",
    "lakehouse.config",
    "lakehouse.connectors",
    "lakehouse.errors",
    "lakehouse.names",
    "lakehouse.plan",
    "lakehouse_dags",
)


def tasks_of(dag):
    return {task["id"]: task for task in dag["tasks"]}


def test_there_are_six_dags_for_each_toml_file_one_for_all_and_one_where_keys_need_it(project_dags):
    kinds = ("approve", "ingest", "rebuild", "reconcile", "signal", "validate")
    each = [f"{kind}_{name}" for kind in kinds for name in SOURCES]
    assert list(project_dags) == sorted([*each, "maintain", "primary_key_inventory"])


def test_a_key_changes_between_two_answers_of_a_person_while_the_connector_stands_still(
    project_dags,
):
    tasks = project_dags["primary_key_inventory"]["tasks"]
    assert [task["id"] for task in tasks] == KEY_STEPS
    assert [task["downstream"] for task in tasks] == [*([step] for step in KEY_STEPS[1:]), []]
    operators = {task["id"]: task["operator"] for task in tasks}
    assert (operators["pause"], operators["change"]) == ("ApprovalOperator", "HITLOperator")


@pytest.mark.parametrize("source", SOURCES)
def test_five_tasks_follow_each_other_and_every_one_has_to_succeed(project_dags, source):
    tasks = project_dags[f"ingest_{source}"]["tasks"]
    assert [task["id"] for task in tasks] == STEPS
    assert [task["downstream"] for task in tasks] == [*([step] for step in STEPS[1:]), []]
    assert {task["trigger_rule"] for task in tasks} == {"all_success"}


@pytest.mark.parametrize("source", SOURCES)
def test_runs_have_data_intervals_and_do_not_catch_up(project_dags, source):
    dag = project_dags[f"ingest_{source}"]
    assert dag["timetable"] == "CronDataIntervalTimetable"
    assert (dag["catchup"], dag["max_active_runs"]) == (False, 1)


@pytest.mark.parametrize("source", SOURCES)
def test_the_tasks_of_a_source_share_one_pool_and_the_oldest_run_goes_on_first(
    project_dags, source
):
    for task in project_dags[f"ingest_{source}"]["tasks"]:
        assert (task["pool"], task["pool_slots"]) == (f"ingest_{source}", 1)
        assert "upstream" in task["weight_rule"].lower()
        assert task["retries"] > 0


def test_a_task_that_is_tried_again_does_not_keep_anyone_waiting(project_dags):
    tried = [task for dag in project_dags.values() for task in dag["tasks"] if task["retries"]]
    assert {task["retry_delay_s"] for task in tried} == {30.0}


def test_no_task_takes_code_from_elsewhere_when_it_runs(project_dags):
    submitted = [
        task["templated"]
        for dag in project_dags.values()
        for task in dag["tasks"]
        if "packages" in task["templated"]
    ]
    assert len(submitted) > len(SOURCES) * len(STEPS)
    for fields in submitted:
        assert (fields["packages"], fields["jars"], fields["py_files"]) == ("None",) * 3


@pytest.mark.parametrize("source", SOURCES)
def test_landing_and_publishing_tell_the_assets(project_dags, source):
    outlets = {task["id"]: task["outlets"] for task in project_dags[f"ingest_{source}"]["tasks"]}
    assert outlets == {
        "land": [f"bronze.{source}"],
        "check": [],
        "apply": [],
        "validate": [],
        "publish": [f"silver.{source}"],
    }


def test_a_task_that_hangs_is_ended(project_dags, task_dag):
    assert {task["timeout_s"] for task in task_dag["tasks"]} == {7200.0}
    assert {task["timeout_s"] for task in project_dags["ingest_shop"]["tasks"]} == {86400.0}


def test_the_interval_and_start_are_those_of_the_toml_file(task_dag):
    assert (task_dag["interval"], task_dag["start"]) == ("0 * * * *", "2025-02-03T04:00:00+00:00")


def test_the_page_of_a_dag_says_how_to_backfill_and_what_to_do_about_a_failure(project_dags):
    for name, dag in project_dags.items():
        assert ("backfill" in dag["doc_md"]) is name.startswith("ingest_")
        assert "When a task failed" in dag["doc_md"]


def test_by_default_landing_submits_all_steps_and_the_others_read_what_it_recorded(project_dags):
    tasks = tasks_of(project_dags["ingest_inventory"])
    assert tasks["land"]["operator"] == "SubmittedRun"
    assert {tasks[step]["operator"] for step in STEPS[1:]} == {"RecordedStep"}
    assert {task["application"] for task in tasks.values()} == {"run.py"}
    assert "--land-decides" in tasks["land"]["arguments"]


def test_with_isolation_task_each_task_submits_its_own_application(task_dag):
    tasks = tasks_of(task_dag)
    assert {task["operator"] for task in tasks.values()} == {"SubmittedStep"}
    assert [task["application"] for task in tasks.values()] == [f"{step}.py" for step in STEPS]


def test_a_step_alone_can_be_submitted_again(project_dags):
    for step, task in tasks_of(project_dags["ingest_inventory"]).items():
        arguments = task["arguments"]
        assert arguments[arguments.index("--from-step") + 1] == step


def test_arguments_are_complete_and_take_run_and_interval_from_airflow(project_dags):
    arguments = tasks_of(project_dags["ingest_inventory"])["land"]["arguments"]
    named = dict(zip(arguments[::2], arguments[1::2], strict=False))
    config = json.loads(named["--config"])
    assert (config["name"], config["topic_prefix"]) == ("inventory", "inventory")
    assert named["--run-id"] == "{{ run_id }}"
    assert "dag_run.start_date" in named["--run-started"]


def test_a_run_lands_until_its_interval_ends_and_one_of_a_person_what_there_is(project_dags):
    arguments = tasks_of(project_dags["ingest_inventory"])["land"]["arguments"]
    end, after = datetime(2026, 1, 31, 6, tzinfo=UTC), datetime(2026, 1, 31, 6, 3, tzinfo=UTC)
    found = [
        Template(arguments[arguments.index("--until") + 1]).render(
            dag_run=SimpleNamespace(run_type=run_type, data_interval_end=known, run_after=after)
        )
        for run_type, known in (
            ("scheduled", end),
            ("backfill", end),
            ("manual", end),
            ("manual", None),
            ("asset_triggered", None),
        )
    ]
    assert found == [end.isoformat()] * 2 + [after.isoformat()] * 3


def test_a_backfill_alone_says_where_its_interval_begins(project_dags):
    start = datetime(2026, 1, 31, 6, tzinfo=UTC)
    for task in tasks_of(project_dags["ingest_inventory"]).values():
        [template] = [text for text in task["arguments"] if text.startswith("--from=")]
        found = [
            Template(template).render(
                dag_run=SimpleNamespace(run_type=run_type, data_interval_start=interval_start)
            )
            for run_type, interval_start in (
                ("backfill", start),
                ("scheduled", start),
                ("manual", None),
            )
        ]
        assert found == ["--from=2026-01-31T06:00:00+00:00", "--from=", "--from="]


def test_text_of_a_toml_file_is_no_template(task_dag):
    config = tasks_of(task_dag)["land"]["arguments"][1]
    assert not any(opening in config for opening in ("{{", "{%", "{#"))
    assert json.loads(config)["kafka"]["topics"] == [r"pay\.roll\..{{2}}", "{%.*"]


def test_a_connection_is_never_among_the_templated_values(project_dags):
    for dag in project_dags.values():
        for task in dag["tasks"]:
            assert task["templated"].get("env_vars", "None") == "None"
            assert "conn." not in json.dumps(task["templated"])


@pytest.mark.parametrize("source", SOURCES)
def test_a_decision_is_a_form_with_one_light_task_that_waits_its_turn(project_dags, source):
    dag = project_dags[f"approve_{source}"]
    [task] = dag["tasks"]
    assert (dag["timetable"], dag["interval"]) == ("NullTimetable", None)
    assert (task["operator"], task["application"]) == ("Approval", "")
    assert (task["pool"], task["templated"]) == (f"ingest_{source}", {})
    assert dag["params"]["action"]["enum"] == ["approve", "reject"]
    assert dag["params"]["renames"]["items"]["pattern"] == "^[^=]+=.+$"


@pytest.mark.parametrize("source", SOURCES)
def test_all_published_rows_are_judged_once_a_day(project_dags, source):
    dag = project_dags[f"validate_{source}"]
    [task] = dag["tasks"]
    assert (dag["timetable"], dag["interval"]) == ("CronDataIntervalTimetable", "0 0 * * *")
    assert (dag["catchup"], dag["max_active_runs"]) == (False, 1)
    assert (task["id"], task["application"]) == ("validate", "validate.py")
    assert (task["pool"], task["pool_slots"]) == (f"ingest_{source}", 1)
    assert task["arguments"][-1] == "--full"
    assert "--until" not in task["arguments"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_signal_is_a_form_with_two_tasks_that_never_keep_ingest_waiting(project_dags, source):
    dag = project_dags[f"signal_{source}"]
    tasks = tasks_of(dag)
    assert [(task["id"], task["downstream"]) for task in dag["tasks"]] == [
        ("send", ["follow"]),
        ("follow", []),
    ]
    assert (dag["timetable"], dag["interval"]) == ("NullTimetable", None)
    assert {task["pool"] for task in tasks.values()} == {"default_pool"}
    # A snapshot that is followed can be stopped by another run.
    assert dag["max_active_runs"] > 1
    assert {task["trigger_rule"] for task in tasks.values()} == {"all_success"}
    assert all(task["templated"] == {} for task in tasks.values())
    assert dag["params"]["action"]["enum"] == ["execute", "stop", "pause", "resume"]
    # Of a field that was emptied Airflow's form makes null.
    for field in ("tables", "conditions"):
        assert dag["params"][field]["type"] == ["null", "array"]
        assert dag["params"][field]["items"]["type"] == "string"


def test_the_form_takes_sql_only_where_the_file_allows_it(reading, project_dags):
    assert "raw" not in project_dags["signal_inventory"]["params"]
    params = reading["parsed"][1]["dags"]["signal_payroll"]["params"]
    assert "raw" in params


def test_the_tables_of_each_source_are_maintained_once_a_day(project_dags):
    dag = project_dags["maintain"]
    assert (dag["timetable"], dag["interval"]) == ("CronDataIntervalTimetable", "0 0 * * *")
    assert (dag["catchup"], dag["max_active_runs"]) == (False, 1)
    assert sorted(task["id"] for task in dag["tasks"]) == SOURCES
    for task in dag["tasks"]:
        assert (task["application"], task["downstream"]) == ("maintain.py", [])
        assert (task["pool"], task["pool_slots"]) == (f"ingest_{task['id']}", 1)
        assert "upstream" in task["weight_rule"].lower()
        assert json.loads(task["arguments"][1])["name"] == task["id"]
        assert "maintain__{{ run_id }}" in task["arguments"]
        assert "--until" not in task["arguments"]


@pytest.mark.parametrize("source", SOURCES)
def test_the_database_is_compared_once_a_day_beside_the_runs_that_it_waits_for(
    project_dags, source
):
    dag = project_dags[f"reconcile_{source}"]
    [task] = dag["tasks"]
    assert (dag["timetable"], dag["interval"]) == ("CronDataIntervalTimetable", "0 0 * * *")
    assert (dag["catchup"], dag["max_active_runs"]) == (False, 1)
    assert (task["id"], task["application"]) == ("reconcile", "reconciliation.py")
    assert task["pool"] == "default_pool"
    assert "full__reconcile__{{ run_id }}" in task["arguments"]


@pytest.mark.parametrize("source", SOURCES)
def test_a_rebuild_is_a_form_with_three_tasks_beside_the_runs_of_its_source(project_dags, source):
    dag = project_dags[f"rebuild_{source}"]
    tasks = dag["tasks"]
    assert (dag["timetable"], dag["max_active_runs"]) == ("NullTimetable", 1)
    assert [task["id"] for task in tasks] == ["rebuild", "validate", "publish"]
    assert [task["downstream"] for task in tasks] == [["validate"], ["publish"], []]
    # In the pool of the source it would keep the runs from going on while it builds.
    assert {task["pool"] for task in tasks} == {"default_pool"}
    assert {task["application"] for task in tasks} == {"run.py"}
    assert tasks[2]["outlets"] == [f"silver.{source}"]
    assert set(dag["params"]) == {"tables", "undo"}


def test_the_form_proposes_the_tables_that_the_file_names(reading):
    params = reading["parsed"][1]["dags"]["approve_payroll"]["params"]
    assert params["table"]["examples"] == ["hr.pay", "hr.staff"]


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (2, ("payroll.toml", "topix")),
        (3, ("payroll.toml", "expected valid TOML")),
        (4, ("'payroll'", "alerts.notifier: 'no.such.Notifier'", "install its provider")),
    ],
)
def test_a_broken_toml_file_is_one_import_error_and_takes_no_other_dags_away(
    reading, folder, words
):
    found = reading["parsed"][folder]
    [(path, error)] = found["import_errors"].items()
    assert Path(path).name == "refused.py"
    assert all(word in error for word in words)
    assert "ingest_shop" in found["dags"]


def test_a_file_that_does_not_say_its_topics_takes_all_dags_away(reading):
    found = reading["parsed"][5]
    assert found["dags"] == {}
    assert len(found["import_errors"]) == len(list(DAGS.glob("*.py")))


def test_who_is_told_stands_in_the_toml_file(task_dag, project_dags):
    assert {task["on_failure"] for task in task_dag["tasks"]} == {True}
    assert task_dag["deadlines"] == ["DagRunQueuedAtDeadline 1800.0"]
    quiet = project_dags["ingest_inventory"]
    assert {task["on_failure"] for task in quiet["tasks"]} == {False}
    assert quiet["deadlines"] == []


def test_who_is_told_is_no_business_of_jobs(reading):
    tasks = [task for dag in reading["parsed"][1]["dags"].values() for task in dag["tasks"]]
    handed = [json.dumps([task["arguments"], task["templated"]]) for task in tasks]
    assert any("pay.roll" in text for text in handed)
    assert not any("data@example.org" in text for text in handed)


def test_reading_the_dag_files_imports_nothing_heavy(reading):
    assert reading["heavy"] == []


@pytest.mark.parametrize("path", sorted(DAGS.rglob("*.py")), ids=lambda path: path.name)
def test_dag_files_import_only_the_library_s_pure_parts_and_stay_short(path):
    tree = ast.parse(path.read_text())
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules += [
        a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names
    ]
    own = [
        name
        for name in modules
        if name and name.split(".")[0].startswith(("lakehouse", "infra", "expectations"))
    ]
    assert [name for name in own if not name.startswith(MAY_IMPORT)] == []
    if path.parent == DAGS:
        assert len(path.read_text().splitlines()) <= 60
