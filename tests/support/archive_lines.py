"""Lines of topic archives, good and broken, for every reader of them. The topic is `t`."""

from __future__ import annotations

import json

GOOD = {
    "topic": "t",
    "partition": 0,
    "offset": 7,
    "timestamp": 1770000000000,
    "key": "k",
    "value": "v",
    "headers": [],
}


def line(**changes: object) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def without(*names: str) -> bytes:
    return json.dumps({name: value for name, value in GOOD.items() if name not in names}).encode()


GOOD_LINES = {
    "text": line(),
    "tombstone": line(value=None),
    "empty value": line(value=""),
    "null key": line(key=None),
    "Base64 beside null": line(value=None, value_b64="/w=="),
    "Base64 alone": without("value")[:-1] + b', "value_b64": "/w=="}',
    "null Base64 beside text": line(value_b64=None),
    "headers": line(headers=[["a", "b"], ["a", ""], ["c", None]]),
    "encoded headers": line(headers=[], headers_b64=[["a", "/w=="], ["b", None]]),
    "timestamp type": line(timestamp_type="LogAppendTime"),
    "timestamp type as Spark has it": line(timestamp_type=1),
    "timestamp -1": line(timestamp=-1, timestamp_type="NoTimestampType"),
    "spaces around": b"  " + line() + b" \r",
    "largest numbers": line(partition=2**31 - 1, offset=2**63 - 1),
    "emoji": line(value="😀"),
    "emoji, not escaped": json.dumps({**GOOD, "value": "😀"}, ensure_ascii=False).encode(),
    "backslash before a code": line(value="\\ud800"),
    "json in text": line(value='{"a": 1, "a": NaN}'),
}

BAD_LINES = {
    "blank": (b"", "not JSON"),
    "truncated": (line()[:-5], "not JSON"),
    "two documents": (line() + line(), "not JSON"),
    "text behind": (line() + b" x", "not JSON"),
    "bracket behind": (line() + b"]", "not JSON"),
    "not UTF-8": (line().replace(b'"v"', b'"\xff"'), "byte 0xff at"),
    "UTF-16": (line().decode().encode("utf-16"), "byte 0xff at 0: expected UTF-8"),
    "array": (b"[1]", "[1]: expected a JSON object"),
    "NaN": (line(offset=float("nan")), "not JSON (NaN is no JSON number)"),
    "member twice": (line()[:-1] + b', "offset": 8}', "a member is there twice"),
    "unknown member": (line(epoch=1), "unknown member 'epoch': expected only topic, partition,"),
    "other topic": (line(topic="u"), "topic \"u\": expected 't', as the file is named"),
    "no topic": (without("topic"), "topic null: expected 't'"),
    "no partition": (without("partition"), "partition null: expected a whole number from 0"),
    "partition too large": (line(partition=2**31), "partition 2147483648: expected a whole"),
    "negative offset": (line(offset=-1), "offset -1: expected a whole number from 0 to"),
    "offset as text": (line(offset="7"), 'offset "7": expected a whole number'),
    "offset with fraction": (line(offset=7.0), "offset 7.0: expected a whole number"),
    "offset too large": (line(offset=2**63), "offset 9223372036854775808: expected"),
    "offset as flag": (line(offset=True), "offset true: expected a whole number"),
    "no timestamp": (without("timestamp"), "timestamp null: expected a whole number from -1"),
    "timestamp too large": (line(timestamp=2**63 - 1), "timestamp 9223372036854775807: expected"),
    "unknown timestamp type": (line(timestamp_type="x"), 'timestamp_type "x": expected one of'),
    "timestamp type null": (line(timestamp_type=None), "timestamp_type null: expected one of"),
    "no key": (without("key"), "no key: expected key (text or null) or key_b64"),
    "no value": (without("value"), "no value: expected value (text or null) or value_b64"),
    "value as object": (line(value={"a": 1}), 'value {"a": 1}: expected text'),
    "value as number": (line(value=1), "value 1: expected text"),
    "value twice": (line(value_b64="/w=="), "value and value_b64: expected one of them"),
    "broken Base64": (line(value=None, value_b64="/w="), 'value_b64 "/w=": expected Base64'),
    "Base64 with blanks": (line(value=None, value_b64="/w ="), 'value_b64 "/w =": expected'),
    "half a surrogate pair": (
        line().replace(b'"v"', b'"\\ud83d"'),
        'value "\\ud83d": expected text that UTF-8 can hold',
    ),
    "second half of a surrogate pair": (
        line().replace(b'"v"', b'"\\ude00 \\ud83d\\ude00"'),
        'value "\\ude00 \\ud83d\\ude00": expected text that UTF-8 can hold',
    ),
    "no headers": (without("headers"), "no headers: expected a list"),
    "headers null": (line(headers=None), "no headers: expected a list"),
    "headers as object": (line(headers={"a": "b"}), 'header {"a": "b"}: expected [name, text]'),
    "header without value": (line(headers=[["a"]]), 'header ["a"]: expected [name, text]'),
    "header without name": (line(headers=[[None, "b"]]), 'header [null, "b"]: expected'),
    "header as number": (line(headers=[["a", 1]]), 'header ["a", 1]: expected [name, text]'),
    "header with three parts": (line(headers=[["a", "b", "c"]]), 'header ["a", "b", "c"]'),
    "headers twice": (
        line(headers=[["a", "b"]], headers_b64=[["a", "/w=="]]),
        "headers and headers_b64: expected one of them",
    ),
    "encoded header broken": (line(headers=[], headers_b64=[["a", "b"]]), 'header ["a", "b"]'),
}
