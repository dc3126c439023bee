"""The signal record that becomes of what a person asks, for every connector and version."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from lakehouse.config import SourceConfig, parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.names import TableIdentity, parse_table
from lakehouse.plan.signals.conditions import parse_condition
from lakehouse.plan.signals.connector import Channel, SignalFacts, signal_facts
from lakehouse.plan.signals.record import Signal, signal_of
from lakehouse.plan.signals.request import Action, Request, SnapshotType

CONFIG = {
    "signal.data.collection": "public.debezium_signal",
    "signal.enabled.channels": "source, kafka",
    "signal.kafka.topic": "signals.shop",
    "notification.enabled.channels": "sink",
    "notification.sink.topic.name": "notifications.shop",
}
TABLES = {
    "db2": ("MYSCHEMA.ORDERS", "MYSCHEMA.ORDERS"),
    "mariadb": ("shop.orders", "shop.orders"),
    "mysql": ("shop.orders", "shop.orders"),
    "oracle": ("SALES.ORDERS", "ORCLPDB1.SALES.ORDERS"),
    "postgresql": ("public.orders", "public.orders"),
    "sqlserver": ("Shop.dbo.orders", "Shop.dbo.orders"),
}


def source_of(connector: str = "postgresql", more: str = "") -> SourceConfig:
    text = f'connector = "{connector}"\ntopic_prefix = "shop"\n{more}'
    if connector == "ticdc":
        text += '[kafka]\ntopics = ["a"]\n'
    return parse_source(text, "shop")


def facts_of(
    source: SourceConfig, version: str = "3.6.1.Final", config: Mapping[str, str] = CONFIG
) -> SignalFacts:
    return signal_facts("shop-connector", config, version, source)


def snapshot(*tables: str, connector: str = "postgresql", where: tuple[str, ...] = (), **more):
    return Request(
        Action.SNAPSHOT,
        tuple(parse_table(text, connector) for text in tables),
        conditions=tuple(parse_condition(text, connector) for text in where),
        **more,
    )


def record(request: Request, source: SourceConfig | None = None, **facts) -> Signal:
    whole = source or source_of()
    return signal_of(request, whole, facts_of(whole, **facts), "s-1")


def data(request: Request, source: SourceConfig | None = None, **facts):
    return json.loads(record(request, source, **facts).data)


def test_an_incremental_snapshot_of_two_tables():
    asked = snapshot("public.orders", 'public."T.b"', person="ann")
    found = record(asked)
    assert (found.id, found.type) == ("s-1", "execute-snapshot")
    assert json.loads(found.data) == {
        "type": "incremental",
        "data-collections": ["public.orders", '"public"."T.b"'],
        "requested-by": "ann",
    }
    assert found.collections == ("public.orders", "public.T.b")


def test_a_name_that_a_restarted_connector_reads_wrong_is_warned_of():
    for text in ('public."T.b"', "public.it's"):
        [warning] = record(snapshot(text)).warnings
        assert "if the connector is restarted" in warning
        assert record(snapshot(text, type=SnapshotType.BLOCKING)).warnings == ()
    assert record(snapshot("public.a$b")).warnings == ()


@pytest.mark.parametrize(
    "text", ["public.a b", "a b.c", 'public."a. b"', "public.'a", 'public."a."', "public.a\u2003b"]
)
def test_a_name_of_which_the_connector_would_die_is_read_by_a_blocking_snapshot_only(text: str):
    with pytest.raises(SignalRefused, match=r"would not survive.*take a blocking one"):
        record(snapshot(text))
    assert record(snapshot(text, type=SnapshotType.BLOCKING))


@pytest.mark.parametrize("connector", TABLES)
def test_every_connector_names_tables_in_its_own_way(connector: str):
    source = source_of(connector)
    text, expected = TABLES[connector]
    config = {**CONFIG, "database.dbname": "ORCLCDB", "database.pdb.name": "ORCLPDB1"}
    assert data(snapshot(text, connector=connector), source, config=config) == {
        "type": "incremental",
        "data-collections": [expected],
    }


def test_every_connector_that_takes_signals_is_tried_here():
    assert set(TABLES) == {name for name, rules in CONNECTORS.items() if rules.signals}


def test_a_connector_without_signals_is_refused():
    with pytest.raises(SignalRefused, match="ticdc takes no signals"):
        facts_of(source_of("ticdc"))


def test_conditions_go_to_their_tables():
    asked = snapshot(
        "public.orders",
        "public.lines",
        where=("id > 5", "public.orders.state = 'open'"),
    )
    assert data(asked)["additional-conditions"] == [
        {
            "data-collection": r"(?-i)public\x{2e}orders",
            "filter": '("id" > 5 AND "state" = \'open\')',
        },
        {"data-collection": r"(?-i)public\x{2e}lines", "filter": '("id" > 5)'},
    ]


def test_a_blocking_snapshot_with_a_condition_has_a_whole_select():
    asked = snapshot("public.orders", where=("id > 5",), type=SnapshotType.BLOCKING)
    assert data(asked) == {
        "type": "blocking",
        "data-collections": [r"(?-i)public\x{2e}orders"],
        "additional-conditions": [
            {
                "data-collection": "public.orders",
                "filter": 'SELECT * FROM "public"."orders" WHERE ("id" > 5)',
            }
        ],
    }


def test_older_connectors_have_one_condition_for_the_whole_signal():
    found = data(snapshot("public.orders", where=("id > 5",)), version="2.3.7.Final")
    assert found["additional-condition"] == '("id" > 5)'
    assert "additional-conditions" not in found
    both = snapshot("public.orders", "public.lines", where=("id > 5",))
    assert data(both, version="2.0.0.Final")["additional-condition"] == '("id" > 5)'
    two = snapshot("public.orders", "public.lines", where=("public.lines.id > 5",))
    with pytest.raises(SignalRefused, match="one signal for each table"):
        data(two, version="2.3.7.Final")


@pytest.mark.parametrize(
    ("asked", "version", "words"),
    [
        (snapshot("public.orders", where=("id > 5",)), "1.9.7.Final", r"expected 2\.0"),
        (snapshot("public.orders", type=SnapshotType.BLOCKING), "2.3.0.Final", r"expected 2\.4"),
        (snapshot("public.orders", surrogate_key="no"), "2.1.4.Final", r"expected 2\.2"),
        (snapshot("public.orders"), "latest", "expected one such as"),
    ],
)
def test_what_a_version_cannot_do_is_refused(asked: Request, version: str, words: str):
    with pytest.raises(SignalRefused, match=words):
        data(asked, version=version)


def test_a_surrogate_key_orders_the_rows():
    assert data(snapshot("public.orders", surrogate_key="created"))["surrogate-key"] == "created"


def test_a_raw_condition_needs_the_toml_file_s_leave():
    asked = snapshot("public.orders", raw="id > 5 OR id = 1")
    with pytest.raises(SignalRefused, match=r"snapshot\.raw_conditions = true in shop\.toml"):
        data(asked)
    allowed = source_of(more="snapshot.raw_conditions = true\n")
    [condition] = data(asked, allowed)["additional-conditions"]
    assert condition["filter"] == "(id > 5 OR id = 1\n)"


def test_a_filtered_blocking_snapshot_never_meets_a_source_whose_snapshots_are_complete():
    source = source_of(more="snapshot.complete = true\n")
    asked = snapshot("public.orders", where=("id > 5",), type=SnapshotType.BLOCKING)
    with pytest.raises(SignalRefused, match="would be removed from silver"):
        data(asked, source)
    assert data(snapshot("public.orders", type=SnapshotType.BLOCKING), source)
    assert data(snapshot("public.orders", where=("id > 5",)), source)


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(Action.SNAPSHOT), "expected at least one"),
        (Request(Action.PAUSE, (TableIdentity(None, "public", "a"),)), "expected none"),
        (Request(Action.STOP, raw="a"), "neither a condition nor a type"),
        (snapshot("public.a", where=("a = 1",), raw="a"), "not both"),
        (
            snapshot("public.a", type=SnapshotType.BLOCKING, surrogate_key="a"),
            "incremental snapshot only",
        ),
        (snapshot("public.a", where=("public.b.c = 1",)), "expected one of the tables"),
    ],
)
def test_what_does_not_fit_together_is_an_error(request_: Request, words: str):
    with pytest.raises(ConfigError, match=words):
        record(request_)


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        ("public.debezium_signal", {}, "it is a control table"),
        ("public.orders", {"table.include.list": "public.a,public.b"}, "captures"),
        ("public.orders", {"table.exclude.list": r"public\.ord.*"}, "leave it out"),
        ("audit.orders", {"schema.include.list": "public"}, "leave it out"),
    ],
)
def test_only_captured_tables_with_rows_can_be_asked_for(table: str, more, words: str):
    with pytest.raises(SignalRefused, match=words):
        record(snapshot(table), config={**CONFIG, **more})


def test_an_oracle_table_without_its_database_is_refused():
    with pytest.raises(SignalRefused, match=r"database\.pdb\.name, database\.dbname"):
        record(snapshot("SALES.ORDERS", connector="oracle"), source_of("oracle"))


def test_a_stop_may_name_tables_and_pause_and_resume_have_no_data():
    tables = (TableIdentity(None, "public", "orders"),)
    assert data(Request(Action.STOP, tables)) == {
        "type": "incremental",
        "data-collections": ["public.orders"],
    }
    assert data(Request(Action.STOP)) == {"type": "incremental"}
    for action in (Action.PAUSE, Action.RESUME):
        found = record(Request(action))
        # The connector asks for the object, though it is empty.
        assert json.loads(found.message) == {"id": "s-1", "type": action.value, "data": {}}


def test_the_channels_are_those_of_the_connector_s_configuration():
    facts = facts_of(source_of())
    assert facts.tables == (("public", "debezium_signal"),)
    assert (facts.signal_topic, facts.notification_topic) == ("signals.shop", "notifications.shop")
    assert facts.channel(None) is Channel.TABLE
    assert facts.channel(Channel.KAFKA) is Channel.KAFKA


def test_by_default_a_connector_reads_the_signal_table_alone_and_tells_nothing():
    facts = facts_of(source_of(), config={"signal.data.collection": 'public."si.g",b.c'})
    assert facts.tables == (("public", "si.g"), ("b", "c"))
    assert (facts.signal_topic, facts.notification_topic) == (None, None)
    with pytest.raises(SignalRefused, match=r"expected 'kafka' in signal\.enabled\.channels"):
        facts.channel(Channel.KAFKA)


def test_a_connector_without_a_channel_is_refused_with_what_it_needs():
    with pytest.raises(SignalRefused, match=r"no channel.*signal\.data\.collection.*'kafka'"):
        facts_of(source_of(), config={}).channel(None)
    only_kafka = {"signal.enabled.channels": "kafka"}
    facts = facts_of(source_of(), config=only_kafka)
    assert (facts.channel(None), facts.signal_topic) == (Channel.KAFKA, "shop-signal")


def test_an_incremental_snapshot_needs_a_signal_table_unless_the_connector_only_reads():
    only_kafka = {"signal.enabled.channels": "kafka"}
    source, asked = source_of("mysql"), snapshot("shop.orders", connector="mysql")
    with pytest.raises(SignalRefused, match="mark what they read"):
        record(asked, source, config=only_kafka)
    assert record(asked, source, config={**only_kafka, "read.only": "true"})
