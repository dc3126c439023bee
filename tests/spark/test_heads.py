"""Envelopes of a large batch are those of a small one, whatever stands behind a topic's head."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.spark.batches import parsed
from lakehouse.spark.parsing.envelopes import parse
from lakehouse.spark.parsing.heads import Head, load_heads
from tests.support.debezium import Postgres, Table, column
from tests.support.runs import laws_hold, open_runs

SOURCE = parse_source('connector = "postgresql"\ntopic_prefix = "pg"\n', "heads")
TOPIC = "pg.public.t"
_COLUMNS = (
    "topic string, partition int, offset bigint, timestamp timestamp, topic_id string, "
    "landed_at timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def schema(*columns: str) -> str:
    return compact({"type": "struct", "fields": [{"field": name} for name in columns]})


def payload(note: str = "é", number: int = 1) -> str:
    source = {"connector": "postgresql", "name": "pg", "db": "d", "schema": "public", "table": "t"}
    source |= {"sequence": f'["{number}","{number + 1}"]', "snapshot": "false", "ts_ms": 1}
    return compact({"before": None, "after": {"id": 1, "note": note}, "source": source, "op": "c"})


def framed(text: str, body: str) -> str:
    return f'{{"schema":{text},"payload":{body}}}'


PLAIN, OTHER = schema("id", "note"), schema("id", "note", "more")
KEY = framed(schema("id"), '{"id":1}')
VALUES: Sequence[str | bytes | None] = (
    framed(PLAIN, payload()),
    framed(PLAIN, payload(number=7)),
    None,
    framed(OTHER, payload()),
    payload(),
    framed(PLAIN, "null"),
    framed(PLAIN, ""),
    framed(PLAIN, payload()) + " {}",
    framed(PLAIN, payload())[:-1],
    framed(PLAIN, payload())[:-1] + ',"schema":null}',
    framed(PLAIN, payload())[:-1] + ',"payload":{}}',
    framed(PLAIN, payload())[:-1] + ',"more":{}}',
    framed(PLAIN, payload('\\ud800"').replace("\\\\", "\\")),
    framed(PLAIN, payload("-0")).replace('"id":1', '"id":-0'),
    framed(PLAIN, payload("\xff")).encode("latin-1"),
    framed(PLAIN + " ", payload()),
    framed("{}", payload()),
    f'{{"payload":{payload()},"schema":{PLAIN}}}',
    json.dumps({"schema": json.loads(PLAIN), "payload": json.loads(payload())}),
    b"\x00\x01registered",
    "",
)
KEYS: Sequence[str | bytes | None] = (
    KEY,
    '{"id":2}',
    KEY[:-1] + ',"schema":null}',
    KEY + "x",
    KEY.replace("1}", '"\\ud800"}'),
    KEY.replace('"id":1', '"id":1,"id":2'),
    b"\xff",
    None,
)


def messages(spark: SparkSession, pairs: Sequence[tuple[object, object]]) -> DataFrame:
    """Bronze rows of one topic, with keys and values."""

    def octets(value: object) -> object:
        return bytearray(value.encode()) if isinstance(value, str) else value

    rows = [
        (TOPIC, 0, 10 + n, _NOW, "id", _NOW, octets(key), octets(value), None)
        for n, (key, value) in enumerate(pairs)
    ]
    return spark.createDataFrame(rows, _COLUMNS)


def envelopes(rows: DataFrame, heads: Sequence[Head]) -> list[str]:
    """All that is told of each message; how long a text is that is none, is a guess."""
    read = parse(rows, SOURCE, CONNECTORS["postgresql"], [TOPIC], (), heads)
    read = read.withColumn("octets", F.expr("if(reason <=> 'not_utf8', NULL, octets)"))
    return [row[0] for row in read.orderBy("offset").selectExpr("to_json(struct(*))").collect()]


@pytest.mark.parametrize("first", [0, 2], ids=["event", "tombstone"])
def test_what_is_cut_off_changes_no_envelope(spark: SparkSession, first: int) -> None:
    values = [(KEY, value) for value in (VALUES[first], *VALUES)]
    rows = messages(spark, [*values, *((key, VALUES[0]) for key in KEYS)])
    heads = load_heads(rows, {(TOPIC, 0): 10})
    [head] = heads
    assert head.value == framed(PLAIN, "").encode()[:-1]
    assert head.key == KEY.partition('{"id":1}')[0].encode()
    whole = envelopes(rows, ())
    assert len(whole) == 1 + len(VALUES) + len(KEYS)
    assert envelopes(rows, heads) == whole


@pytest.mark.parametrize(
    "value",
    [
        payload(),
        framed(PLAIN, payload())[:-1],
        framed(PLAIN[:-1], payload()),
        framed(PLAIN.replace("note", "\\ud800"), payload()),
        framed(PLAIN.replace("note", "\xff"), payload()).encode("latin-1"),
        framed("null", payload()),
        None,
    ],
)
def test_only_what_is_whole_and_text_is_a_head(spark: SparkSession, value: object) -> None:
    rows = messages(spark, [(KEY, value)] * 4 + [(KEY, VALUES[0])] * 2)
    assert load_heads(rows, {(TOPIC, 0): 10}) == ()
    assert load_heads(rows.where("false"), {(TOPIC, 0): 10}) == ()
    assert load_heads(rows, {}) == ()


def test_a_large_batch_ends_as_a_small_one(
    spark: SparkSession, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tables, of which one gets a column while its messages come, and a restart."""
    name = "heads_run"
    pg, runs = Postgres(name, framed=False), open_runs(spark, settings, tmp_path, name)
    columns = [column("id", "int32", optional=False), column("note", "string")]
    wide, plain = Table("wide", [*columns]), Table("plain", [*columns])
    pg.snapshot(wide, [{"id": n, "note": "read"} for n in range(5)])
    pg.snapshot(plain, [{"id": n, "note": "read"} for n in range(5)])
    pg.transact(*((t, "u", None, {"id": 1, "note": t.name}) for t in (wide, plain)))
    wide.columns.append(column("more", "string"))
    started = pg.mark()
    pg.transact(
        (wide, "u", None, {"id": 2, "note": "x", "more": "y"}), (plain, "d", {"id": 2}, None)
    )
    pg.redeliver(started, first_without_commit=True)
    monkeypatch.setattr(parsed, "_MANY", 1)
    outcomes = runs.run(pg)
    assert {outcome.status for outcome in outcomes.values()} == {"succeeded"}
    assert laws_hold(outcomes["apply"])
    kept = [(n, "read") for n in (0, 3, 4)]
    assert runs.rows("plain", "id", "note") == sorted([*kept, (1, "plain")])
    assert runs.rows("wide", "id", "note", "more") == sorted(
        [*((*row, None) for row in kept), (1, "wide", None), (2, "x", "y")], key=lambda row: row[0]
    )
