"""The least that landing takes: a consumer of librdkafka that writes bronze's columns as Parquet.

    python -m tests.bench.consumer REQUEST       # JSON: address, topics, out

Prints its CPU and wall seconds, and how many messages it wrote.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Message, TopicPartition

from tests.bench.cpu import own_seconds

_AT_ONCE, _ROW_GROUP, _ANSWER_S = 10_000, 200_000, 60
_SCHEMA = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("ms", "UTC"),
        "timestamp_type": pa.int32(),
        "key": pa.binary(),
        "value": pa.binary(),
    }
)


def main(request: str) -> None:
    asked = json.loads(request)
    began, cpu = time.monotonic(), own_seconds()
    count = 0
    with pq.ParquetWriter(asked["out"], _SCHEMA, compression="zstd") as writer:
        rows: list[Message] = []
        for messages in _messages(asked["address"], asked["topics"]):
            rows += messages
            if len(rows) >= _ROW_GROUP:
                count += _write(writer, rows)
                rows = []
        count += _write(writer, rows)
    print(
        json.dumps(
            {"cpu": own_seconds() - cpu, "wall": time.monotonic() - began, "messages": count}
        )
    )


def _messages(address: str, topics: Sequence[str]) -> Iterator[list[Message]]:
    """All messages of the topics, which have one partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "limit",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    parts = [TopicPartition(topic, 0, 0) for topic in topics]
    left = sum(consumer.get_watermark_offsets(part, _ANSWER_S)[1] for part in parts)
    consumer.assign(parts)
    while left:
        found = consumer.consume(min(_AT_ONCE, left), _ANSWER_S)
        assert found, f"{left} messages: expected them within {_ANSWER_S} s"
        left -= len(found)
        yield found
    consumer.close()


def _write(writer: pq.ParquetWriter, rows: Sequence[Message]) -> int:
    columns = [
        [row.topic() for row in rows],
        [row.partition() for row in rows],
        [row.offset() for row in rows],
        [row.timestamp()[1] for row in rows],
        [row.timestamp()[0] - 1 for row in rows],
        [row.key() for row in rows],
        [row.value() for row in rows],
    ]
    arrays = [pa.array(c, field.type) for c, field in zip(columns, _SCHEMA, strict=True)]
    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))
    return len(rows)


if __name__ == "__main__":
    main(sys.stdin.read())
