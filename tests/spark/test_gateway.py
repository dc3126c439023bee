"""How little Python asks the JVM for what PySpark hands over in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyspark.sql.functions as F
import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession

from lakehouse.spark.java import java_class

TEXTS = ["", " ", "a,b", "'\"\\", "\x00", "\n\te\r", "ä€😀", "$x.y", "NULL", "1"]


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The questions that are asked meanwhile, but for those that free memory."""
    asked: list[str] = []
    ask = ClientServerConnection.send_command

    def send(self: ClientServerConnection, command: str, *rest: Any) -> str:
        if not command.startswith("m\n"):
            asked.append(command)
        answer: str = ask(self, command, *rest)
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(ClientServerConnection, "send_command", send)
        yield asked


@pytest.mark.parametrize("count", [1, 2, 3, len(TEXTS)])
@pytest.mark.parametrize("kind", [list, tuple])
def test_texts_arrive_as_they_are(spark: SparkSession, kind: type, count: int) -> None:
    arrived = java_class(spark, "java.util.ArrayList")(kind(TEXTS[:count]))
    assert [arrived.get(n) for n in range(arrived.size())] == TEXTS[:count]


@pytest.mark.parametrize("count", [1, 2, 10, 11, 20, 35])
def test_columns_arrive_in_their_order(spark: SparkSession, count: int) -> None:
    row = spark.range(1).select([F.lit(n).alias(f"c{n}") for n in range(count)]).collect()[0]
    assert row.asDict() == {f"c{n}": n for n in range(count)}


def test_a_list_takes_a_few_questions(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = spark.range(1)
    columns = [F.lit(n).alias(f"c{n}") for n in range(60)]
    frame.selectExpr("id", "id + 1")
    with counted(monkeypatch) as texts:
        frame.selectExpr(*(f"id + {n} AS c{n}" for n in range(60)))
    with counted(monkeypatch) as objects:
        frame.select(columns)
    assert len(texts) <= 4
    assert len(objects) <= 16


def test_a_function_is_looked_up_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    F.col("id")
    with counted(monkeypatch) as asked:
        for _ in range(5):
            F.col("id")
    assert len(asked) == 5
