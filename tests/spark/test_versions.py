"""All schema versions of a table are decoded in one pass, each event by its own version."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from lakehouse.names import TableIdentity
from lakehouse.plan.batches.batch import TableRules, plan_table
from lakehouse.plan.batches.groups import Group
from lakehouse.plan.batches.table_versions import TableFacts
from lakehouse.plan.batches.tables import TablePlan
from lakehouse.plan.progress import Progress
from lakehouse.plan.schemas.renames import Rename, Renames
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.spark.decoding.events import table_rows
from lakehouse.spark.session import tune
from tests.support.debezium import PLACEHOLDER, Postgres, Table, column
from tests.support.groups import group_of
from tests.support.runs import laws_hold, open_runs

TABLE = TableIdentity("app", "public", "orders")
TOPIC = "s.public.orders"
INT, BIGINT, TEXT, FLOAT, DOUBLE = (
    ValueType(Kind.CAST, kind) for kind in ("int", "bigint", "string", "float", "double")
)
BYTES = ValueType(Kind.BASE64, "binary")
NUMBERS = ValueType(Kind.ARRAY, "array<int>", element=INT)
HASHED = ValueType(Kind.HASHED, "string", element=TEXT)
REDACTED = ValueType(Kind.REDACTED, "string", element=TEXT)
DROPPED = None
# Before the third version the source renamed "note" to "label", and made a new "note" of bytes.
RENAMED = Rename("3", "note", "label")
Schema = dict[str, ValueType | None]
VERSIONS: tuple[Schema, ...] = (
    {"id": INT, "Name": TEXT, "n": INT, "note": TEXT, "f": FLOAT, "mail": HASHED},
    {
        "id": INT,
        "name": TEXT,
        "n": BIGINT,
        "note": TEXT,
        "f": DOUBLE,
        "mail": HASHED,
        "pin": REDACTED,
        "card": DROPPED,
    },
    {
        "pin": REDACTED,
        "id": INT,
        "card": DROPPED,
        "name": TEXT,
        "label": TEXT,
        "note": BYTES,
        "G": DOUBLE,
    },
    {"id": BIGINT, "NAME": TEXT, "label": TEXT, "note": BYTES, "g": DOUBLE, "list": NUMBERS},
    {"id": BIGINT, "NAME": TEXT, "label": TEXT, "note": BYTES, "g": DOUBLE, "list": NUMBERS},
)
DEFAULTS = {"pin": '"***"', "list": "[4]"}
# Values of the types, and those that any column of a wrong event may have.
FITTING: dict[str, Sequence[object]] = {
    "int": (1, 2),
    "bigint": (1, 2, 2**40),
    "float": (1.5, 0, -0.0),
    "double": (2.5, 0, -0.0, "NaN", "-Infinity"),
    "string": ("a", "12"),
    "binary": ("AAH/", "YWJj"),
    "array<int>": ([1, None],),
}
ANY = (None, 7, 1.25, -0.0, "x", "12", "Infinity", "AAH/", True, [1], ["x"], {"a": 1}, PLACEHOLDER)


def plan_of(
    versions: Iterable[Schema] = VERSIONS, key: str | None = '["id"]', **rules: object
) -> TablePlan:
    schemas = {
        number: RowSchema(
            tuple(
                Column(name, kind, True, DEFAULTS.get(name))
                for name, kind in columns.items()
                if kind
            ),
            withheld=tuple(name for name, kind in columns.items() if not kind),
        )
        for number, columns in enumerate(versions, 1)
    }
    facts = TableFacts("silver_s.o", {}, Progress(), {}, renames=Renames((RENAMED,)))
    groups = [_group(number, key) for number in schemas]
    return plan_table(TABLE, groups, schemas, facts, TableRules(**rules))


def _group(fingerprint: int, key: str | None) -> Group:
    return group_of(
        topic=TOPIC,
        identity=TABLE,
        collection="public.orders",
        fingerprint=fingerprint,
        key_fields=key,
        first_offset=fingerprint,
        first_position=str(fingerprint),
    )


def envelopes(spark: SparkSession, events: Sequence[dict[str, object]]) -> DataFrame:
    rows = [
        (event["fingerprint"], offset, event["op"], json.dumps(event["payload"]), event["schema"])
        for offset, event in enumerate(events)
    ]
    named = spark.createDataFrame(
        rows, "fingerprint long, offset long, op string, text string, has_schema boolean"
    )
    return named.selectExpr(
        "fingerprint",
        f"'{TOPIC}' AS topic",
        "0 AS partition",
        "offset",
        "lpad(string(offset), 9, '0') AS position",
        "'' AS log",
        "CAST(NULL AS string) AS source_lsn",
        "CAST(NULL AS string) AS source_transaction",
        "false AS moves",
        "op",
        "CAST(NULL AS string) AS snapshot",
        "1L AS source_ts_ms",
        "false AS redelivered",
        "1L AS total_order",
        "try_variant_get(parse_json(text), '$.key', 'map<string,string>') AS key_tokens",
        "has_schema",
        "parse_json(text) AS payload",
        "if(contains(text, '-0.0'), text, NULL) AS minus_zero",
        "'data' AS role",
        "CAST(NULL AS string) AS reason",
        "false AS control",
        "'app' AS database",
        "'public' AS schema_name",
        "'orders' AS table_name",
        "0 AS incarnation",
    ).localCheckpoint()


def events_of(plan: TablePlan, count: int) -> list[dict[str, object]]:
    """Events of all versions, right and wrong ones, among them with another version's columns."""
    rng = random.Random(7)
    names = sorted({c.name for version in plan.versions for c in version.columns} | {"card", "odd"})

    def image(columns: Sequence[Column]) -> dict[str, object] | None:
        fitting = {c.name: rng.choice(FITTING[c.type.spark]) for c in columns}
        wrong = {name: rng.choice(ANY) for name in names if rng.random() < 0.06}
        less = {name: value for name, value in fitting.items() if rng.random() < 0.95}
        return rng.choice((fitting, fitting | wrong, less | wrong, fitting | wrong, None))

    events: list[dict[str, object]] = []
    for _ in range(count):
        version = rng.choice(plan.versions)
        before, after = image(version.columns), image(version.columns)
        right = {"id": (after or before or {}).get("id")}
        key = rng.choice((right, right, right, {"id": 1}, {"id": "x"}, {}))
        payload = {"key": key, "before": before, "after": after}
        op = rng.choice(("c", "u", "u", "d", "r"))
        events.append(
            {
                "fingerprint": version.fingerprint,
                "op": op,
                "payload": payload,
                "schema": rng.random() < 0.9,
            }
        )
    return events


def decoded(rows: DataFrame) -> list[Row]:
    names = [name for name in rows.columns if name not in ("image", "key", "image_hash")]
    image = "to_json(image, map('ignoreNullFields', 'false')) AS image"
    shown = rows.selectExpr(*names, image, "string(key) AS key")
    return shown.orderBy("offset", "half").collect()


CASES = {
    "by the event key": ({}, False),
    "by the event key, unchanged values left out": ({}, True),
    "by the event key, which an update may change": ({"halves": True}, False),
    "by columns of the row": ({"configured": ("id",)}, True),
    "a bag": ({"key": None}, True),
}


@pytest.mark.parametrize(("rules", "placeholders"), CASES.values(), ids=CASES)
def test_every_event_becomes_what_its_version_alone_makes_of_it(
    spark: SparkSession, rules: dict[str, object], *, placeholders: bool
) -> None:
    session = spark.newSession()
    tune(session, 1)
    plan = replace(plan_of(**rules), placeholders=placeholders)
    assert (plan.hold, len(plan.versions)) == ("", len(VERSIONS))
    batch = envelopes(session, events_of(plan, 400))
    alone = [
        row
        for version in plan.versions
        for row in decoded(table_rows(batch, replace(plan, versions=(version,)), b"secret"))
    ]
    together = decoded(table_rows(batch, plan, b"secret"))
    assert together == sorted(alone, key=lambda row: (row["offset"], row["half"]))
    assert {row["reason"] for row in together} >= {None, "bad_value", "unknown_column"}
    assert any(row["unavailable"] for row in together) == placeholders


def test_two_deliveries_of_an_event_are_the_same_and_two_events_are_not(
    spark: SparkSession,
) -> None:
    plan = plan_of()
    columns = plan.versions[1].columns
    row = {c.name: FITTING[c.type.spark][0] for c in columns}
    images = (row, row, row | {"n": 9})
    events = [
        {"fingerprint": 2, "op": "c", "schema": True, "payload": {"key": {"id": 1}, "after": image}}
        for image in images
    ]
    first, again, other = (
        r["image_hash"] for r in table_rows(envelopes(spark, events), plan, b"s").collect()
    )
    assert first == again != other


def plan_text(rows: DataFrame) -> str:
    """The optimised plan of a query."""
    rows.createOrReplaceTempView("rows_of_versions")
    plans = rows.sparkSession.sql("EXPLAIN EXTENDED SELECT * FROM rows_of_versions").collect()
    return plans[0][0].split("== Optimized Logical Plan ==")[1].split("== Physical Plan ==")[0]


def test_the_query_does_not_grow_with_versions(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.debug.maxToStringFields", "100000")
    batch = envelopes(session, events_of(plan_of(), 1))
    kinds = (INT, TEXT, BYTES, DOUBLE)

    def columns(count: int) -> Schema:
        return {"id": INT} | {f"c{index}": kinds[index % 4] for index in range(count)}

    def text(versions: list[Schema]) -> str:
        return plan_text(table_rows(batch, plan_of(versions)))

    one, same = text([columns(40)]), text([columns(40)] * 40)
    growing = text([columns(count) for count in range(1, 41)])
    assert one.count("\n") == same.count("\n") == growing.count("\n")
    assert "version" not in one, "one version is asked for nowhere"
    assert "version" not in same, "nor are versions that are read alike"
    assert len(same) < 1.2 * len(one), "only the list of fingerprints is longer"
    # Each version's JSON types are a pattern of their own, with half of the columns.
    assert len(growing) < 5 * len(one)


@pytest.mark.further
def test_forty_versions_in_one_batch_end_in_the_right_rows(spark, settings, tmp_path) -> None:
    runs, pg = open_runs(spark, settings, tmp_path, "forty_versions"), Postgres("forty_versions")
    table = Table("items", items(0))
    pg.snapshot(table, [item(0, 0), item(41, 0), item(42, 0)])
    assert laws_hold(runs.run(pg)["apply"])
    for version in range(1, 41):
        table.columns = items(version)
        pg.transact((table, "c", None, item(version, version)))
    pg.transact((table, "u", None, item(1, 40)), (table, "d", item(41, 40), None))
    outcome = runs.run(pg)

    assert laws_hold(outcome["apply"])
    assert outcome["validate"].detail["verdict"] == "passed"
    found = runs.rows("items", "id", "n", "label", "c1", "c2", "c20", "c39", "c40")
    assert found[0] == (0, 0, "label 0", None, "none", "none", None, "none")
    assert found[1] == (1, 2**40, "label 40", "1", "2", "20", "39", "40")
    assert found[2] == (2, 2, "label 2", "1", "2", "none", None, "none")
    assert found[20] == (20, 20, "label 20", "1", "2", "20", None, "none")
    assert found[39] == (39, 2**40 - 1, "label 39", "1", "2", "20", "39", "none")
    assert found[40] == (40, 2**40, "label 40", "1", "2", "20", "39", "40")
    assert [row[0] for row in found] == [*range(41), 42]


def items(version: int) -> list[dict[str, object]]:
    """Each version adds a column; halfway `n` is widened and `Label` gets another case."""
    late = version > 20
    return [
        column("id", "int32", optional=False),
        column("n", "int64" if late else "int32"),
        column("label" if late else "Label", "string"),
        *(
            column(f"c{added}", "string", **({} if added % 2 else {"default": "none"}))
            for added in range(1, version + 1)
        ),
    ]


def item(number: int, version: int) -> dict[str, object]:
    n = 2**40 + version - 40 if version > 20 else version
    label = {"label" if version > 20 else "Label": f"label {version}"}
    return {"id": number, "n": n} | label | {f"c{c}": str(c) for c in range(1, version + 1)}
