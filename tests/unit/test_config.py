"""Sources as TOML: defaults, the round trip to a job, topics, addresses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from lakehouse.config import (
    Settings,
    SourceConfig,
    TopicRole,
    client_properties,
    kafka_properties,
    load_readable,
    load_source,
    load_sources,
    parse_source,
    required_topics,
    select_topics,
    topic_role,
)
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError
from lakehouse.names import TableIdentity
from lakehouse.spark.landing.kafka_admin import Admin

TICDC_TOPICS = '[kafka]\ntopics = ["tidb-.*"]'

EVERY_KEY = """
connector      = "mysql"
topic_prefix   = "shop"
control_tables = ["shop.debezium_signal"]
epoch          = "gtid"
new_logs       = [2026-02-01T00:00:00Z, 2026-03-01T00:00:00Z]

[schedule]
interval  = "0 3 * * 1-5"
start     = 2026-01-01T00:00:00Z
isolation = "task"
timeout   = "6h"

[kafka]
connection     = "kafka_main"
topics         = ["shop\\\\..*", "all_orders"]
schema_changes = "shop"
transactions   = "shop.tx"
heartbeat      = "beat.shop"
schema_history = "history.shop"
notifications  = "notes.shop"
signals        = "signals.shop"
topic_tables."all_orders" = ["shop.orders_.*"]

[schema_changes]
mode             = "try_evolve"
require_approval = ["narrow_type", "primary_key"]
resnapshot       = true
drop_column      = "drop"

[transactions]
consistent = true
strict     = true
timeout    = "90s"

[snapshot]
complete  = true
max_sweep = 0.25

[cuts.keep]
all    = "12h"
hourly = "3d"
daily  = "14d"
last   = 5

[rebuild]
undo = "2d"

[alerts]
notifier  = "some.package.Notifier"
arguments = { connection = "desk", lines = 3, to = ["a@b.c"] }
freshness = "30m"

[reconcile]
marker = "shop.debezium_signal"
wait   = "5m"

[tables."shop.orders"]
table       = "orders"
delete      = "soft"
history     = true
key         = ["id"]
drop_column = "keep"
columns.card_number = { mask = "drop" }
columns.id          = { mask = "hash", type = "bigint unsigned" }
"""


def source(text: str = "", *, connector: str = "postgresql", prefix: str = "inventory", **options):
    head = f'connector = "{connector}"\ntopic_prefix = "{prefix}"\n'
    return parse_source(head + text, "inventory", **options)


@pytest.mark.parametrize("connector", CONNECTORS)
def test_two_lines_are_a_source(connector):
    found = source(TICDC_TOPICS if connector == "ticdc" else "", connector=connector)
    assert found.name == "inventory"
    assert found.epoch == ("gtid" if connector in ("mysql", "mariadb") else "manual")
    seconds = 120 if connector in ("db2", "sqlserver") else 3600
    assert found.transactions.timeout == timedelta(seconds=seconds)


def test_defaults_are_complete():
    found = source()
    assert found.kafka.connection == "kafka_inventory"
    assert found.kafka.topics == (r"inventory\..*",)
    assert found.kafka.schema_changes == "inventory"
    assert found.kafka.transactions == "inventory.transaction"
    assert found.kafka.heartbeat == "__debezium-heartbeat.inventory"
    assert (found.kafka.schema_history, found.kafka.signals) == (None, None)
    assert found.schedule.interval == "*/5 * * * *"
    assert found.schedule.start == datetime(2026, 1, 1, tzinfo=UTC)
    assert found.schema_changes.mode == "evolve"
    assert (found.snapshot.complete, found.snapshot.max_sweep) == (False, 0.1)
    assert (found.cuts.keep.all, found.cuts.keep.last) == (timedelta(hours=24), 2)
    assert found.rebuild.undo == timedelta(days=7)
    assert (found.reconcile.marker, found.reconcile.wait) == (None, timedelta(minutes=15))


def test_every_key_can_be_set():
    found = parse_source(EVERY_KEY, "shop")
    orders = found.table_options(TableIdentity("shop", None, "orders"))
    assert found.transactions.timeout == timedelta(seconds=90)
    assert found.schema_changes.require_approval == ("narrow_type", "primary_key")
    assert found.cuts.keep.hourly == timedelta(days=3)
    assert (orders.table, orders.delete, orders.history, orders.key) == (
        "orders",
        "soft",
        True,
        ("id",),
    )
    assert orders.columns["id"].type == "bigint unsigned"
    assert found.is_control_table(TableIdentity("shop", None, "debezium_signal"))
    assert found.configured_names() == {TableIdentity("shop", None, "orders"): "orders"}


@pytest.mark.parametrize(
    "text", [EVERY_KEY, 'connector = "oracle"\ntopic_prefix = "ora1"'], ids=["full", "short"]
)
def test_a_source_travels_as_json_without_change(text):
    found = parse_source(text, "shop", prefixes=["shop", "shop.eu", "ora1.x"])
    assert SourceConfig.model_validate_json(found.model_dump_json()) == found


def test_a_table_may_have_a_mode_and_approvals_of_its_own():
    found = source("""
[schema_changes]
mode = "lenient"
require_approval = ["primary_key"]
resnapshot = true
[tables."public.orders"]
schema_changes.mode = "fail"
[tables."public.lines"]
schema_changes.require_approval = []
""")

    def policy(table: str) -> tuple[str, tuple[str, ...], bool]:
        changes = found.schema_changes_of(TableIdentity("app", "public", table))
        return changes.mode, changes.require_approval, changes.resnapshot

    assert policy("orders") == ("fail", ("primary_key",), True)
    assert policy("lines") == ("lenient", (), True)
    assert policy("others") == ("lenient", ("primary_key",), True)


def test_a_table_is_found_whatever_database_its_event_names():
    found = source('[tables."public.orders"]\nhistory = true')
    assert found.table_options(TableIdentity("db1", "public", "orders")).history
    assert not found.table_options(TableIdentity("db1", "public", "order")).history


@pytest.mark.parametrize(
    ("topic", "role"),
    [
        ("inventory", TopicRole.SCHEMA_CHANGE),
        ("inventory.transaction", TopicRole.TRANSACTION),
        ("__debezium-heartbeat.inventory", TopicRole.HEARTBEAT),
        ("inventory.public.orders", TopicRole.DATA),
        ("inventory.notes", TopicRole.NOTIFICATION),
        ("inventory.history", TopicRole.SCHEMA_HISTORY),
        ("signals", TopicRole.SIGNAL),
        ("all_orders", TopicRole.DATA),
        ("inventory.eu", None),
        ("inventory.eu.public.orders", None),
        ("inventory.europe.orders", TopicRole.DATA),
        ("inventory2.public.orders", None),
        ("x.inventory.public.orders", None),
        ("__debezium-heartbeat.inventory.eu", None),
    ],
)
def test_each_topic_has_one_role(topic, role):
    found = source(
        '[kafka]\nnotifications = "inventory.notes"\nschema_history = "inventory.history"\n'
        'signals = "signals"\ntopic_tables.all_orders = ["public.orders_.*"]',
        prefixes=["inventory", "inventory.eu", "other"],
    )
    assert topic_role(found, topic) == role


def test_a_data_topic_of_ticdc_may_be_called_like_the_cluster():
    found = source('[kafka]\ntopics = ["inventory"]', connector="ticdc")
    assert topic_role(found, "inventory") is TopicRole.DATA


def test_the_transaction_topic_comes_first_in_a_selection():
    topics = ["inventory.public.b", "inventory.transaction", "inventory.public.a", "zzz"]
    found = select_topics(source(), topics)
    assert found.topics == ("inventory.transaction", "inventory.public.a", "inventory.public.b")
    assert found.ignored == ("zzz",)


def test_topics_that_are_named_one_by_one_are_required():
    found = source('[kafka]\ntopics = ["inventory\\\\..*", "a.b", "c\\\\.d"]\nschema_history = "h"')
    assert required_topics(found) == ("a.b", "c.d", "h")


def test_sources_are_loaded_by_name_and_know_longer_prefixes(tmp_path):
    for name, prefix in (("b", "shop"), ("a", "shop.eu")):
        text = f'connector = "mysql"\ntopic_prefix = "{prefix}"'
        (tmp_path / f"{name}.toml").write_text(text)
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})
    assert [found.name for found in load_sources(settings)] == ["a", "b"]
    assert load_source("b", settings).longer_prefixes == ("shop.eu",)
    assert load_source("a", settings).longer_prefixes == ()


def test_a_file_that_is_wrong_leaves_the_others_as_they_are(tmp_path):
    (tmp_path / "good.toml").write_text('connector = "mysql"\ntopic_prefix = "shop"')
    (tmp_path / "half.toml").write_text("topic_prefix = 'shop.eu'\nconnector = ")
    (tmp_path / "odd.toml").write_text('connector = "mysql"\ntopic_prefix = "odd"\ntopix = "a"')
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})
    loaded = load_readable(settings)
    assert [(found.name, found.longer_prefixes) for found in loaded.sources] == [
        ("good", ("shop.eu",))
    ]
    assert ["half.toml" in str(loaded.refused[0]), "topix" in str(loaded.refused[1])] == [True] * 2
    with pytest.raises(ConfigError, match=r"half\.toml: expected valid TOML"):
        load_sources(settings)


def test_a_file_that_does_not_say_its_topics_stops_all(tmp_path):
    (tmp_path / "good.toml").write_text('connector = "mysql"\ntopic_prefix = "shop"')
    (tmp_path / "half.toml").write_text("topic_prefix = ")
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})
    with pytest.raises(ConfigError, match=r"half\.toml: expected valid TOML"):
        load_readable(settings)


def test_an_unknown_source_is_refused_with_those_that_exist(tmp_path):
    (tmp_path / "shop.toml").write_text('connector = "mysql"\ntopic_prefix = "shop"')
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})
    with pytest.raises(ConfigError, match=r"source 'shoop': expected one of .*: shop; write shoop"):
        load_source("shoop", settings)


def test_a_missing_folder_of_sources_is_named(tmp_path):
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path / "no")})
    with pytest.raises(ConfigError, match="no: expected a folder with one TOML file per source"):
        load_sources(settings)


def test_settings_have_defaults_below_the_home(tmp_path):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    assert settings.catalog_uri == f"sqlite:///{tmp_path}/catalog.db"
    assert settings.warehouse == f"file://{tmp_path}/warehouse"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("LAKEHOUSE_CATALOG_URI", "mysql://u:secret@h/d", "scheme 'mysql': expected one of"),
        ("LAKEHOUSE_WAREHOUSE", "some/folder", "'some/folder': expected an absolute path"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_without_its_secrets(variable, value, message):
    with pytest.raises(ConfigError, match=message) as raised:
        Settings.from_environment({variable: value})
    assert "secret" not in str(raised.value)


def test_kafka_is_found_in_the_variable_then_the_connection_then_the_local_stack(tmp_path):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    own = {"LAKEHOUSE_KAFKA": '{"bootstrap.servers": "a:1", "enable.idempotence": true}'}
    extra = {"bootstrap.servers": "b:2"}
    as_text = {
        "AIRFLOW_CONN_KAFKA_INVENTORY": json.dumps(
            {"conn_type": "kafka", "extra": json.dumps(extra)}
        )
    }
    as_object = {"AIRFLOW_CONN_KAFKA_INVENTORY": json.dumps({"extra": extra})}
    (tmp_path / "stack.json").write_text('{"kafka": {"bootstrap.servers": "c:3"}}')
    found = [
        kafka_properties(source(), settings, environment)["bootstrap.servers"]
        for environment in ({**own, **as_text}, as_text, as_object, {})
    ]
    assert found == ["a:1", "b:2", "b:2", "c:3"]
    assert kafka_properties(source(), settings, own)["enable.idempotence"] == "true"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "no Kafka address: expected it in LAKEHOUSE_KAFKA"),
        ({"LAKEHOUSE_KAFKA": "secret"}, "LAKEHOUSE_KAFKA: expected a JSON object"),
        ({"LAKEHOUSE_KAFKA": "[1]"}, "LAKEHOUSE_KAFKA: expected a JSON object, found list"),
        ({"LAKEHOUSE_KAFKA": '{"sasl.password": "secret"}'}, "the property bootstrap.servers"),
        ({"AIRFLOW_CONN_KAFKA_INVENTORY": "{}"}, "extra: expected an object"),
    ],
)
def test_a_kafka_address_that_cannot_be_used_is_refused_without_its_secrets(
    environment, message, tmp_path
):
    settings = Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path)})
    with pytest.raises(ConfigError, match=message) as raised:
        kafka_properties(source(), settings, environment)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    "safe",
    [
        {"bootstrap.servers": "localhost:9092,127.0.0.1:9093,[::1]:9094"},
        {"bootstrap.servers": "broker:9092", "security.protocol": "sasl_ssl"},
        {"bootstrap.servers": "broker:9092", "security.protocol": "SSL"},
        {"bootstrap.servers": "broker:9092", "lakehouse.plaintext": "true"},
    ],
)
def test_a_client_is_opened_with_librdkafkas_own_properties(safe):
    own = {name: text for name, text in safe.items() if name != "lakehouse.plaintext"}
    assert client_properties(safe) == own


@pytest.mark.parametrize(
    ("bare", "message"),
    [
        (
            {"bootstrap.servers": "far:9092"},
            r"far:9092 would be .* PLAINTEXT\): expected",
        ),
        (
            {
                "bootstrap.servers": "127.0.0.1:1, far:9092",
                "security.protocol": "sasl_plaintext",
            },
            "Kafka at far:9092 would be reached without TLS .security.protocol SASL_PLAINTEXT",
        ),
        ({"bootstrap.servers": "127.0.0.1.example:1"}, "127.0.0.1.example:1 would be reached"),
        ({"bootstrap.servers": "b:1", "lakehouse.plaintext": "false"}, "lakehouse.plaintext"),
    ],
)
def test_brokers_of_other_machines_are_not_reached_without_tls(bare, message):
    with pytest.raises(ConfigError, match=message):
        client_properties({**bare, "sasl.password": "secret"})
    with pytest.raises(ConfigError) as raised:
        Admin({**bare, "sasl.password": "secret"})
    assert "secret" not in str(raised.value)
