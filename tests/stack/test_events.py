"""Real databases through Debezium: the messages of the stack are what the design counts on."""

from __future__ import annotations

import json

import pytest

from infra.clients import query
from tests.stack.conftest import Stack

# Source, a table of it that tests may write to, and the topic of that table.
CUSTOMERS = {
    "inventory": "inventory.public.locations",
    "shop": "shop.shop.categories",
    "warehouse": "warehouse.warehouse.sites",
}
SNAPSHOT_ROWS = {
    "inventory.public.customers": 80,
    "inventory.public.locations": 4,
    "inventory.public.products": 60,
    "inventory.public.stock": 90,
    "inventory.public.orders": 120,
    "inventory.public.order_lines": 240,
    "shop.shop.customers": 80,
    "shop.shop.categories": 5,
    "shop.shop.products": 60,
    "shop.shop.orders": 120,
    "shop.shop.order_items": 240,
    "warehouse.warehouse.sites": 3,
    "warehouse.warehouse.bins": 60,
    "warehouse.warehouse.articles": 60,
    "warehouse.warehouse.stock": 180,
    "warehouse.warehouse.movements": 200,
}
INSERT = {
    "inventory": "INSERT INTO locations VALUES ('{key}', 'Turku', '09:00', '1 day', NULL, 2)",
    "shop": "INSERT INTO categories VALUES ({key}, NULL, 'Turku')",
    "warehouse": "INSERT INTO sites VALUES ({key}, 'T-{key}', 'Turku', NULL, NULL, 1.5)",
}
UPDATE = {
    "inventory": "UPDATE locations SET city = 'Åbo' WHERE code = '{key}'",
    "shop": "UPDATE categories SET name = 'Åbo' WHERE id = {key}",
    "warehouse": "UPDATE sites SET city = 'Åbo' WHERE id = {key}",
}
DELETE = {
    "inventory": "DELETE FROM locations WHERE code = '{key}'",
    "shop": "DELETE FROM categories WHERE id = {key}",
    "warehouse": "DELETE FROM sites WHERE id = {key}",
}
KEY = {
    "inventory": lambda number: {"code": str(number)},
    "shop": lambda number: {"id": number},
    "warehouse": lambda number: {"id": number},
}
SOURCES = tuple(CUSTOMERS)


def read_events(messages):
    """Those of the source snapshot: other tests ask for incremental ones."""
    return [
        message
        for message in messages
        if message.op == "r" and message.value["source"]["snapshot"] != "incremental"
    ]


def keys_of(messages):
    return {json.dumps(message.key) for message in messages}


@pytest.mark.parametrize("topic", SNAPSHOT_ROWS)
def test_the_source_snapshot_holds_every_sample_row(stack: Stack, topic: str):
    expected = SNAPSHOT_ROWS[topic]
    found = read_events(
        stack.kafka.await_messages(topic, lambda sent: len(keys_of(read_events(sent))) >= expected)
    )
    # A task that Connect restarts repeats its snapshot: each row is there, once or more, the same.
    assert len(keys_of(found)) == expected
    assert len({json.dumps([message.key, message.value["after"]]) for message in found}) == expected
    markers = {message.value["source"]["snapshot"] for message in found}
    assert markers <= {
        "true",
        "first",
        "first_in_data_collection",
        "last_in_data_collection",
        "last",
    }
    assert markers & {"last_in_data_collection", "last"}


@pytest.mark.parametrize("source", SOURCES)
def test_sample_rows_are_the_same_as_in_the_database(stack: Stack, source: str):
    topic = CUSTOMERS[source]
    rows = query(stack.database(source), f"SELECT * FROM {topic.rpartition('.')[2]}")
    assert len(rows) >= SNAPSHOT_ROWS[topic]


@pytest.mark.parametrize("source", SOURCES)
def test_a_transaction_arrives_whole_with_its_boundaries(stack: Stack, source: str):
    number = 7001
    stack.run(
        source,
        INSERT[source].format(key=number),
        UPDATE[source].format(key=number),
        DELETE[source].format(key=number),
    )
    messages = stack.kafka.await_key(
        CUSTOMERS[source], KEY[source](number), lambda some: len(some) >= 4
    )
    assert [message.op for message in messages] == ["c", "u", "d", None]
    created, updated, deleted, tombstone = messages
    assert created.value["before"] is None
    assert updated.after["city" if source != "shop" else "name"] == "Åbo"
    assert deleted.value["after"] is None
    assert tombstone.value is None
    assert tombstone.headers["__debezium.context.connectorName"] == (stack.source(source).connector)
    # Connect's default would have sent "false"; NULL tells that no default took a NULL's place.
    assert created.value["source"]["snapshot"] is None
    orders = [message.value["transaction"]["total_order"] for message in messages[:3]]
    assert orders == [1, 2, 3]
    end = end_of(stack, source, created.value["transaction"]["id"])
    assert end["event_count"] == 3
    assert [entry["event_count"] for entry in end["data_collections"]] == [3]


def end_of(stack: Stack, source: str, transaction_id: str) -> dict:
    """The END of a transaction; PostgreSQL's ids differ behind the colon."""
    wanted = without_lsn(source, transaction_id)

    def ends(messages):
        return [
            message.value
            for message in messages
            if message.value["status"] == "END"
            and without_lsn(source, message.value["id"]) == wanted
        ]

    topic = stack.source(source).kafka.transactions
    return ends(stack.kafka.await_messages(topic, ends))[0]


def without_lsn(source: str, transaction_id: str) -> str:
    return transaction_id.partition(":")[0] if source == "inventory" else transaction_id


@pytest.mark.parametrize(
    ("source", "create", "topic"),
    [
        ("inventory", "CREATE TABLE scratch (id int PRIMARY KEY, note text DEFAULT 'x')", None),
        ("shop", "CREATE TABLE scratch (id int PRIMARY KEY, note text)", "shop"),
        ("warehouse", "CREATE TABLE scratch (id int PRIMARY KEY, note text)", "warehouse"),
    ],
)
def test_a_truncate_and_a_new_table_are_events(
    stack: Stack, source: str, create: str, topic: str | None
):
    stack.run(source, create)
    stack.run(source, "INSERT INTO scratch VALUES (1, NULL)")
    stack.run(source, "TRUNCATE TABLE scratch")
    schema = "public" if source == "inventory" else source
    messages = stack.kafka.await_messages(
        f"{source}.{schema}.scratch", lambda some: "t" in {message.op for message in some}
    )
    assert [message.op for message in messages] == ["c", "t"]
    created, truncated = messages
    assert created.after == {"id": 1, "note": None}
    assert truncated.key is None
    assert (truncated.value["before"], truncated.value["after"]) == (None, None)
    if topic is not None:
        changes = stack.kafka.await_messages(
            topic, lambda some: any("scratch" in message.value["ddl"] for message in some)
        )
        change = next(one for one in changes if "CREATE TABLE scratch" in one.value["ddl"])
        assert change.key == {"databaseName": source}
        assert change.value["tableChanges"][0]["type"] == "CREATE"


def test_an_unchanged_large_value_arrives_as_the_placeholder(stack: Stack):
    stack.run("inventory", "UPDATE products SET price = price + 1 WHERE id = 57")
    messages = stack.kafka.await_key(
        "inventory.public.products", {"id": 57}, lambda some: some[-1:] and some[-1].op == "u"
    )
    assert len(messages[0].after["description"]) > 3000
    assert messages[-1].after["description"] == "__debezium_unavailable_value"


def test_a_key_change_is_a_delete_a_tombstone_and_a_create(stack: Stack):
    stack.run("inventory", INSERT["inventory"].format(key=7002))
    stack.run("inventory", "UPDATE locations SET code = '7003' WHERE code = '7002'")
    topic = CUSTOMERS["inventory"]
    old = stack.kafka.await_key(topic, {"code": "7002"}, lambda some: len(some) == 3)
    new = stack.kafka.await_key(topic, {"code": "7003"}, lambda some: len(some) == 1)
    assert [message.op for message in old] == ["c", "d", None]
    assert json.loads(old[1].headers["__debezium.newkey"]) == {"code": "7003"}
    assert new[0].op == "c"
    assert json.loads(new[0].headers["__debezium.oldkey"]) == {"code": "7002"}


@pytest.mark.parametrize(
    ("topic", "column", "number"),
    [
        ("inventory.public.customers", "credit_limit", 5),
        ("shop.shop.customers", "balance", 7),
    ],
)
def test_null_stays_null_in_a_column_with_a_default(
    stack: Stack, topic: str, column: str, number: int
):
    message = stack.kafka.await_key(topic, {"id": number}, lambda some: len(some) >= 1)[0]
    assert message.after[column] is None
    fields = {
        field["field"]: field
        for part in message.schema["fields"]
        if part["field"] == "after"
        for field in part["fields"]
    }
    assert "default" in fields[column]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        (
            "inventory.public.products",
            {
                "price": "org.apache.kafka.connect.data.Decimal",
                "weight_kg": "io.debezium.data.VariableScaleDecimal",
                "attributes": "io.debezium.data.Json",
                "updated_at": "io.debezium.time.MicroTimestamp",
                "tags": None,
                "thumbnail": None,
            },
        ),
        (
            "shop.shop.products",
            {
                "id": "org.apache.kafka.connect.data.Decimal",
                "labels": "io.debezium.data.EnumSet",
                "available_from": "io.debezium.time.Timestamp",
                "model_year": "io.debezium.time.Year",
            },
        ),
        (
            "warehouse.warehouse.movements",
            {
                "reason": "io.debezium.data.Enum",
                "moved_at": "io.debezium.time.MicroTimestamp",
                "took": "io.debezium.time.MicroTime",
            },
        ),
    ],
)
def test_types_travel_with_the_message(stack: Stack, topic: str, expected: dict[str, str | None]):
    message = stack.kafka.await_messages(topic, lambda some: len(some) >= 1)[0]
    after = next(part for part in message.schema["fields"] if part["field"] == "after")
    names = {field["field"]: field.get("name") for field in after["fields"]}
    assert {column: names[column] for column in expected} == expected


def test_a_signal_in_the_kafka_topic_starts_one_too(stack: Stack):
    source = stack.source("shop")
    data = {"data-collections": ["shop.customers"], "type": "incremental"}
    signal = {"id": "by-kafka", "type": "execute-snapshot", "data": data}
    stack.kafka.write(source.kafka.signals, source.topic_prefix, json.dumps(signal))
    assert stack.kafka.await_key(
        "shop.shop.customers",
        {"id": 1},
        lambda some: any(one.value["source"]["snapshot"] == "incremental" for one in some),
    )


@pytest.mark.parametrize("source", SOURCES)
def test_a_signal_in_the_table_starts_an_incremental_snapshot(stack: Stack, source: str):
    topic = CUSTOMERS[source]
    table = topic.partition(".")[2]
    data = json.dumps({"data-collections": [table], "type": "incremental"})
    stack.run(
        source,
        f"INSERT INTO debezium_signal VALUES ('again-{source}', 'execute-snapshot', '{data}')",
    )
    messages = stack.kafka.await_messages(
        topic,
        lambda some: any(
            message.value and message.value["source"]["snapshot"] == "incremental"
            for message in some
        ),
    )
    assert messages
    notified = stack.kafka.await_messages(
        stack.source(source).kafka.notifications,
        lambda some: any(
            message.value["aggregate_type"] == "Incremental Snapshot"
            and message.value["type"] == "COMPLETED"
            for message in some
        ),
    )
    assert notified
