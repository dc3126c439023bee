"""A broker with TLS, logins and ACLs: what a source's login needs, and what it hears without.

Passwords hold quotes and backslashes, since the two clients of a landing are told them in two ways.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from lakehouse.config import Settings
from lakehouse.errors import KafkaUnreachable, LandingRefused, SignalRefused
from lakehouse.inspection.topics import read_source_topics
from lakehouse.plan.signals.record import Signal
from lakehouse.signalling.sending import send_by_topic
from lakehouse.signalling.topics import read_all
from lakehouse.spark.landing.kafka_properties import java_properties
from lakehouse.spark.landing.lag import measure_lag
from tests.support.arguments import watched_arguments
from tests.support.canaries import Search
from tests.support.commands import ended_command
from tests.support.event_logs import told_everything
from tests.support.secured import ODD, Authority, Secured, secured_broker
from tests.support.topics import Topics, consumed

READER, SIGNALS, NOBODY, BLIND = "reader", "signals", "nobody", "blind"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """The broker, with logins that may do nothing yet."""
    with secured_broker(tmp_path_factory.mktemp("secured") / "home") as made:
        for user in (READER, SIGNALS, NOBODY, BLIND):
            made.add_user(user)
        yield made


@pytest.fixture
def topics(spark, settings, secured: Secured) -> Topics:
    """Topics that the reader may read, and nothing else of them."""
    topics = Topics(spark, settings, secured.broker.address, settings.home)
    topics.create(2)
    topics.send(3)
    topics.send(2, partition=1)
    secured.grant(READER, topics.prefix, "READ", prefixed=True)
    return topics


@pytest.fixture
def as_login(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], None]:
    return lambda properties: monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps(properties))


def commands_home(topics: Topics, settings: Settings, folder: Path) -> Settings:
    """Where commands find the topics as the source `secured`."""
    toml = f'connector = "postgresql"\ntopic_prefix = "{topics.prefix}"\n'
    (folder / "secured.toml").write_text(toml, encoding="utf-8")
    return settings.model_copy(update={"home": folder / "home", "sources": folder})


def told_password(secured: Secured, user: str) -> str:
    """The part of a password that JAAS, too, spells as it is."""
    return secured.passwords[user].removeprefix(ODD)


def in_connection(properties: Mapping[str, str]) -> str:
    """As Airflow hands a connection over."""
    return json.dumps({"conn_type": "kafka", "extra": json.dumps(properties)})


def test_a_login_that_may_read_the_topics_alone_lands_and_measures_lag(
    topics: Topics, secured: Secured, monkeypatch: pytest.MonkeyPatch
):
    properties = secured.properties(READER)
    monkeypatch.setenv("LAKEHOUSE_KAFKA", json.dumps(properties))
    assert topics.land().counts["messages"] == 5
    topics.send(2)
    monkeypatch.delenv("LAKEHOUSE_KAFKA")
    connection = f"AIRFLOW_CONN_KAFKA_{topics.prefix.upper()}"
    monkeypatch.setenv(connection, in_connection(properties))
    [lag] = measure_lag(topics.source(), topics.settings, topics.ledger).tables
    assert (lag.table, lag.messages) == (topics.topic, 7)
    assert lag.waits_since is not None
    assert topics.land().counts["messages"] == 2
    assert topics.landed() == consumed(topics.address, [topics.topic])


def test_settings_of_topics_need_the_right_to_see_them(topics: Topics, secured: Secured, as_login):
    history = topics.create(topic=f"{topics.prefix}_history")
    properties = secured.properties(READER)
    as_login(properties)
    source = topics.source(f'schema_history = "{history}"')
    topics.produce([{"topic": history, "value": b"{}"}])
    refused = f"the login 'reader' may not do this to the settings of topic '{history}'"
    with pytest.raises(KafkaUnreachable, match=refused):
        topics.land(source)
    with pytest.raises(KafkaUnreachable, match=r"docs/grants\.md"):
        read_source_topics(source, properties, topics.ledger)
    secured.grant(READER, topics.prefix, "DESCRIBE_CONFIGS", prefixed=True)
    assert topics.land(source).detail["schema_history"]["cleanup.policy"] == "delete"
    assert len(read_source_topics(source, properties, topics.ledger)) == 2


def test_a_topic_that_a_login_may_see_and_not_read_ends_landing_by_its_name(
    topics: Topics, secured: Secured, as_login
):
    secured.grant(BLIND, topics.prefix, "DESCRIBE", prefixed=True)
    as_login(secured.properties(BLIND))
    with pytest.raises(KafkaUnreachable) as refused:
        topics.land()
    told = str(refused.value)
    assert "the login 'blind' may not do this" in told
    assert f"Not authorized to access topics: [{topics.topic}]" in told
    assert "docs/grants.md" in told
    assert "\n" not in told
    assert topics.bronze.head() is None


def test_a_topic_that_a_login_may_not_see_is_no_loss_that_one_is_asked_to_accept_unwarned(
    topics: Topics, secured: Secured, as_login
):
    as_login(secured.properties(NOBODY))
    with pytest.raises(LandingRefused, match=r"let the login read its topics.*docs/grants\.md"):
        topics.land()
    as_login(secured.properties(READER))
    topics.land()
    secured.grant(BLIND, topics.create(topic=f"{topics.prefix}.public.seen"), "READ")
    as_login(secured.properties(BLIND))
    with pytest.raises(LandingRefused, match=r"hides it from a login that may not read it"):
        topics.land()


def test_a_signal_needs_the_rights_to_read_and_write_the_signal_topic_and_no_other(
    topics: Topics, secured: Secured
):
    source, signal = topics.source(), Signal("one", "log", '{"message": "here"}')
    channel = topics.create(topic=f"signals_{topics.prefix}")
    unread = topics.create(topic=f"unread_{topics.prefix}")
    topics.produce([{"topic": unread, "value": b"{}"}])
    properties = secured.properties(SIGNALS)
    with pytest.raises(SignalRefused, match=r"not there, or hidden from the login"):
        send_by_topic(properties, channel, source, signal)
    secured.grant(SIGNALS, unread, "WRITE")
    with pytest.raises(KafkaUnreachable, match=rf"{unread}.*expected the right Read"):
        send_by_topic(properties, unread, source, signal)
    secured.grant(SIGNALS, channel, "READ")
    with pytest.raises(SignalRefused, match=r"Topic authorization failed.*docs/grants\.md"):
        send_by_topic(properties, channel, source, signal)
    secured.grant(SIGNALS, channel, "WRITE")
    assert [send_by_topic(properties, channel, source, signal) for _ in range(2)] == [True, False]
    assert len(list(read_all(properties, channel))) == 1
    with pytest.raises(SignalRefused):
        send_by_topic(properties, topics.topic, source, signal)
    assert len(consumed(topics.address, [topics.topic])) == 5


def test_a_wrong_login_and_an_untrusted_certificate_end_in_words(
    topics: Topics, secured: Secured, as_login, tmp_path
):
    others = tmp_path / "other.pem"
    others.write_text(Authority.new().pem, encoding="ascii")
    refused = {
        "the login 'reader' was refused": {"sasl_password": "other"},
        "the login 'nobody' was refused": {"sasl_username": NOBODY},
        "no trust in its certificate": {"ssl_ca_location": str(others)},
        "no answer": {"security_protocol": "SASL_PLAINTEXT"},
    }
    for failed, changes in refused.items():
        as_login(secured.properties(READER, socket_timeout_ms="2000", **changes))
        with pytest.raises(KafkaUnreachable) as told:
            topics.land()
        assert failed in str(told.value)
        assert "correct" in str(told.value)
        assert secured.passwords[READER] not in str(told.value)
    assert topics.bronze.head() is None


def test_spark_that_tells_all_it_does_tells_no_password_and_no_key(
    topics: Topics, secured: Secured, settings: Settings, tmp_path, monkeypatch
):
    # The broker asks for no certificate of a client, but Spark's reader is given one.
    own = tmp_path / "own.pem"
    own.write_text(Authority.new().signed(), encoding="ascii")
    files = {"ssl_certificate_location": str(own), "ssl_key_location": str(own)}
    home = commands_home(topics, settings, tmp_path)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", told_everything(home.home)["SPARK_CONF_DIR"])
    kafka = json.dumps(secured.properties(READER, **files))
    with watched_arguments() as arguments:
        ended = ended_command(home, "land", "--source", "secured", LAKEHOUSE_KAFKA=kafka)
    assert ended.returncode == 0, ended.stderr[-2000:]
    secrets = {"password": told_password(secured, READER), "key": own.read_text().splitlines()[2]}
    # What is told: the properties of Spark's reader in its log, the plan in the event log.
    search = Search({**secrets, "properties": "sasl.jaas.config", "plan": topics.topic})
    search.look("output", (ended.stdout + ended.stderr).encode())
    search.look("arguments", b"\n".join(arguments))
    search.look_below(home.home)
    assert search.found["properties"] == {"output"}
    assert any(place.startswith("events/") for place in search.found["plan"])
    assert search.found.keys() == {"properties", "plan"}


def test_spark_hides_each_option_that_holds_a_secret(spark, secured: Secured, tmp_path):
    own = tmp_path / "own.pem"
    own.write_text(Authority.new().signed(), encoding="ascii")
    files = {"ssl_certificate_location": str(own), "ssl_key_password": "a key's"}
    options = java_properties(secured.properties(READER, **files))
    secret = {"sasl.jaas.config", "ssl.key.password", "ssl.keystore.key"}
    assert secret < options.keys()
    hidden = re.compile(spark.conf.get("spark.redaction.regex"))
    stores = {"fs.s3a.access.key", "spark.sql.catalog.lakehouse.jdbc.user"}
    assert {name for name in options.keys() | stores if hidden.search(name)} == secret | stores


@pytest.mark.further
def test_a_command_with_a_wrong_password_repeats_it_nowhere(
    topics: Topics, secured: Secured, settings: Settings, tmp_path
):
    home = commands_home(topics, settings, tmp_path)
    wrong = "wr0ng" + secured.passwords[READER]
    properties = secured.properties(READER, sasl_password=wrong, socket_timeout_ms="2000")
    kafka = {"LAKEHOUSE_KAFKA": json.dumps(properties)}
    ended = ended_command(home, "land", "--source", "secured", **kafka)
    assert ended.returncode == KafkaUnreachable.exit_code, ended.stderr
    assert "the login 'reader' was refused" in ended.stdout
    assert "\tat " not in ended.stderr
    search = Search({"password": told_password(secured, READER)})
    search.look("output", (ended.stdout + ended.stderr).encode())
    search.look_below(home.home)
    assert search.found == {}
