"""What `lakehouse doctor` finds in a connector's configuration."""

from __future__ import annotations

import pytest

from infra.registrations import Surroundings, plan_registration
from infra.sources import SAMPLE_SOURCES, Database
from lakehouse.config import Settings, load_source, parse_source
from lakehouse.plan.doctor.connector import judge_connector
from lakehouse.plan.doctor.findings import Level, exit_code, sentence
from lakehouse.plan.doctor.running import is_of_source, judge_running
from lakehouse.plan.doctor.settings import RULES

POSTGRESQL = parse_source('connector = "postgresql"\ntopic_prefix = "shop"\n', "shop")
MYSQL = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
SQLSERVER = parse_source('connector = "sqlserver"\ntopic_prefix = "shop"\n', "shop")
JSON = "org.apache.kafka.connect.json.JsonConverter"
GOOD = {
    "topic.prefix": "shop",
    "key.converter": JSON,
    "value.converter": JSON,
    "key.converter.replace.null.with.default": "false",
    "value.converter.replace.null.with.default": "false",
    "bigint.unsigned.handling.mode": "precise",
    "interval.handling.mode": "string",
    "include.unknown.datatypes": "true",
    "skipped.operations": "none",
    "provide.transaction.metadata": "true",
    "heartbeat.interval.ms": "5000",
}


def found(config: dict[str, str], source=POSTGRESQL) -> dict[str, Level]:
    return {f.what: f.level for f in judge_connector("c", config, source)}


@pytest.mark.parametrize("source", [POSTGRESQL, MYSQL], ids=lambda source: source.connector)
def test_nothing_is_found_in_a_configuration_that_keeps_every_promise(source):
    assert found(GOOD, source) == {}


@pytest.mark.parametrize("sample", SAMPLE_SOURCES.values(), ids=lambda sample: sample.name)
def test_nothing_is_found_in_what_the_local_stack_registers(sample, tmp_path):
    source = load_source(sample.name, Settings.from_environment())
    database = Database(sample.engine, 1, "user", "password", sample.name)
    planned = plan_registration(
        source, database, Surroundings({"bootstrap.servers": "host:1"}, tmp_path / "secrets")
    )
    assert found(dict(planned.config), source) == {}


@pytest.mark.parametrize(
    ("connector", "named", "told"),
    [
        ("postgresql", "public.signals", "public.signals"),
        ("mysql", "shop.signals", "shop.signals"),
        ("sqlserver", "db.dbo.signals", "db.dbo.signals"),
        ("oracle", "DB.APP.SIGNALS", "APP.SIGNALS"),
    ],
)
def test_a_signal_table_that_would_become_silver_is_found(connector: str, named: str, told: str):
    text = f'connector = "{connector}"\ntopic_prefix = "shop"\n'
    config = GOOD | {"signal.data.collection": named}
    assert found(config, parse_source(text, "shop"))["signal.data.collection"] is Level.WARNING
    source = parse_source(text + f'control_tables = ["{told}"]\n', "shop")
    assert "signal.data.collection" not in found(config, source)


BREAKING = {
    "key.converter.replace.null.with.default": "true",
    "value.converter.replace.null.with.default": "true",
    "value.converter.decimal.format": "NUMERIC",
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "decimal.handling.mode": "double",
    "bigint.unsigned.handling.mode": "long",
    "time.precision.mode": "connect",
    "skipped.operations": "u,d",
    "event.processing.failure.handling.mode": "warn",
    "inconsistent.schema.handling.mode": "skip",
    "errors.tolerance": "all",
    "schema.history.internal.skip.unparseable.ddl": "true",
    "snapshot.mode": "no_data",
    "topic.delimiter": "_",
    "unavailable.value.placeholder": "hex:00",
}


@pytest.mark.parametrize(("setting", "value"), BREAKING.items())
def test_a_setting_that_breaks_a_promise_is_named_with_what_to_do(setting, value):
    [one] = judge_connector("c", GOOD | {setting: value}, MYSQL)
    assert (one.level, one.what, one.value) == (Level.BREAKS, setting, repr(value))
    assert setting in one.next_step
    assert one.expected in sentence(one)


def test_a_default_that_breaks_a_promise_is_found_where_nothing_is_set():
    levels = found({"topic.prefix": "shop", "key.converter": JSON, "value.converter": JSON}, MYSQL)
    assert {what for what, level in levels.items() if level is Level.BREAKS} == {
        "key.converter.replace.null.with.default",
        "value.converter.replace.null.with.default",
        "bigint.unsigned.handling.mode",
        "skipped.operations",
    }


def test_truncates_are_not_missed_where_the_connector_never_sends_them():
    assert "skipped.operations" not in found(
        {name: value for name, value in GOOD.items() if name != "skipped.operations"}, SQLSERVER
    )


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        ("io.debezium.transforms.ExtractNewRecordState", Level.BREAKS),
        ("org.apache.kafka.connect.transforms.Flatten$Value", Level.BREAKS),
        ("io.debezium.transforms.outbox.EventRouter", Level.BREAKS),
        ("org.apache.kafka.connect.transforms.Filter", Level.BREAKS),
        ("io.debezium.transforms.ByLogicalTableRouter", Level.WARNING),
        ("com.example.Mystery$Key", Level.WARNING),
    ],
)
def test_a_transformation_of_the_envelope_is_found(kind, level):
    config = GOOD | {"transforms": "one, two", "transforms.one.type": kind}
    assert found(config)["transforms.one.type"] is level


def test_routed_topics_are_fine_once_the_toml_file_maps_them():
    text = 'connector = "postgresql"\ntopic_prefix = "shop"\n'
    text += '[kafka]\ntopic_tables."all" = ["public.orders_.*"]\n'
    kind = "io.debezium.transforms.ByLogicalTableRouter"
    config = GOOD | {"transforms": "route", "transforms.route.type": kind}
    assert found(config, parse_source(text, "shop")) == {}


def test_a_filtered_snapshot_breaks_a_promise_only_where_ghosts_would_be_swept():
    config = GOOD | {"snapshot.select.statement.overrides": "public.orders"}
    sweeping = parse_source(
        'connector = "postgresql"\ntopic_prefix = "shop"\n[snapshot]\ncomplete = true\n', "shop"
    )
    assert found(config) == {"snapshot.select.statement.overrides": Level.WARNING}
    assert found(config, sweeping) == {"snapshot.select.statement.overrides": Level.BREAKS}


def test_columns_that_are_left_out_or_masked_are_warnings():
    config = GOOD | {"column.exclude.list": "a.b", "column.mask.with.12.chars": "a.c"}
    assert set(found(config).values()) == {Level.WARNING}


def test_one_running_connector_is_expected_for_each_prefix():
    assert judge_running({"c": ""}, MYSQL) == ()
    [none] = judge_running({}, MYSQL)
    assert (none.level, none.value) == (Level.WARNING, "none")
    [two] = judge_running({"b": "", "a": ""}, MYSQL)
    assert (two.level, two.value) == (Level.BREAKS, "a, b")
    [failed] = judge_running({"c": "ConnectException: no binlog\n at x"}, MYSQL)
    assert failed.value == "'ConnectException: no binlog'"


def test_a_connector_is_found_by_its_prefix_of_either_age():
    assert is_of_source({"topic.prefix": "shop"}, MYSQL)
    assert is_of_source({"database.server.name": "shop"}, MYSQL)
    assert not is_of_source({"topic.prefix": "shop.eu"}, MYSQL)


def test_the_exit_code_is_that_of_the_worst_finding():
    warning = judge_connector("c", GOOD | {"heartbeat.interval.ms": "0"}, MYSQL)
    breaking = judge_connector("c", GOOD | {"errors.tolerance": "all"}, MYSQL)
    assert [exit_code(f) for f in ((), warning, breaking, warning + breaking)] == [0, 1, 2, 2]


def test_every_rule_says_what_happens_and_has_a_default_of_its_own():
    assert len({rule.setting for rule in RULES}) == len(RULES)
    assert all(rule.why.endswith(".") and rule.default for rule in RULES)
