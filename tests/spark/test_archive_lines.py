"""What Spark takes for a message, line by line, is what the plain check takes for one."""

from __future__ import annotations

import base64
import json

from pyspark.sql import functions as F

from lakehouse.spark.landing.archive_parsing import LARGE_LINE_BYTES, parsed_lines
from tests.support.archive_lines import BAD_LINES, GOOD_LINES


def _folder(path, lines):
    """One file for each line; Spark reads the topic from the file's name."""
    for number, content in enumerate(lines):
        line = content.replace(b'"t"', b'"case%d"' % number)
        (path / f"t-case{number}.jsonl").write_bytes(line + b"\n")
    return str(path)


def test_spark_and_the_plain_check_agree_on_every_line(spark, tmp_path):
    cases = {**dict.fromkeys(GOOD_LINES, False), **dict.fromkeys(BAD_LINES, True)}
    folder = _folder(
        tmp_path, [*GOOD_LINES.values(), *(content for content, _ in BAD_LINES.values())]
    )
    rows = parsed_lines(spark, folder).select("topic", "broken").collect()
    found = {row["topic"]: row["broken"] for row in rows}
    assert {case: found[f"case{number}"] for number, case in enumerate(cases)} == cases


def test_every_part_of_a_message_is_decoded(spark, tmp_path):
    folder = _folder(tmp_path, GOOD_LINES.values())
    rows = parsed_lines(spark, folder).withColumn("ms", F.unix_millis("timestamp")).collect()
    found = {row["topic"]: row for row in rows}
    for number, content in enumerate(GOOD_LINES.values()):
        line, row = json.loads(content), found[f"case{number}"]
        for name in ("key", "value"):
            text, encoded = line.get(name), line.get(f"{name}_b64")
            expected = base64.b64decode(encoded) if encoded else text and text.encode()
            assert row[name] == (b"" if text == "" else expected)
        assert (row["partition"], row["offset"], row["ms"]) == (
            line["partition"],
            line["offset"],
            line["timestamp"],
        )
        expected_headers = [
            (name, None if value is None else value.encode()) for name, value in line["headers"]
        ] or [
            (name, None if value is None else base64.b64decode(value))
            for name, value in line.get("headers_b64", [])
        ]
        assert [tuple(header) for header in row["headers"]] == expected_headers
        types = {"LogAppendTime": 1, 1: 1, "NoTimestampType": -1, "CreateTime": 0}
        assert row["timestamp_type"] == types[line.get("timestamp_type", "CreateTime")]


def test_a_message_larger_than_the_parser_takes_is_read_whole(spark, tmp_path):
    size = 21_000_000
    line = GOOD_LINES["text"].replace(b'"v"', b'"' + b"x" * size + b'"')
    assert len(line) > LARGE_LINE_BYTES
    folder = _folder(tmp_path, [line])
    found = parsed_lines(spark, folder).select("broken", "large", F.octet_length("value"))
    assert [tuple(row) for row in found.collect()] == [(False, True, size)]
