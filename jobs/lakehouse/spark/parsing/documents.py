"""Documents: the payload of a message as VARIANT, and its schema, which stays text.

In: the bytes of a key or a value. Out: what stands in them. A message that carries its schema has
some four times the bytes, the same ones in each message. Making a VARIANT of them took 250 of 300
microseconds; text that is known to be JSON (Jackson skips through it) is enough to know it by.
"""

from __future__ import annotations

import uuid

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.spark.parsing.reasons import MAX_VALUE_BYTES
from lakehouse.spark.sql import literal

# As Kafka's JsonConverter writes both
# (https://kafka.apache.org/documentation/#connect_running): the schema comes first.
SCHEMA, PAYLOAD = '{"schema":', ',"payload":'
BEHIND = '{"payload":'
"""What a document without its schema begins with."""
_STARTS = f"{SCHEMA}{{"
# Both in one look: Spark leaves a path that leads nowhere by an exception, and those that each
# message lacks took a quarter of the CPU of parsing (measured).
_MEMBERS = "struct<payload:variant,schema:variant>"
_PAYLOAD = "coalesce(members.payload, try_variant_get(document, '$[0]', 'variant'))"
# No text can have it, as it is another one in each process.
_END = uuid.uuid4().hex
_REST = f',"{_END}"]'


def with_documents(rows: DataFrame) -> DataFrame:
    """Parse `value`, which is dropped, and the key.

    Args:
        rows: From `heads.without_heads`.

    Returns:
        The rows with `payload`, `row_schema`: JSON text, `is_json`, `key_payload`, and `text`: the
        value as text, without its schema where that could be cut off.
    """
    value = _opened(rows, "value", "head IS NOT NULL")
    opened = value.selectExpr(
        *rows.columns,
        "rest AS value_text",
        "document IS NOT NULL AS is_json",
        f"{_PAYLOAD} AS payload",
        "if(is_cut, schema_text, string(members.schema)) AS row_schema",
    )
    key = _opened(opened, "key_document", "is_key_cut")
    dropped = ("value", "value_text", "key_document", "is_key_cut")
    kept = (name for name in opened.columns if name not in dropped)
    return key.selectExpr(*kept, "value_text AS text", f"{_PAYLOAD} AS key_payload")


def _opened(rows: DataFrame, column: str, is_headless: str) -> DataFrame:
    """With the one JSON document of a column, as `_wrapped`; NULL when it is none, or several."""
    text = f"if(octet_length({column}) <= {MAX_VALUE_BYTES}, string({column}), NULL)"
    # Quotes inside of text are escaped, so that this is the name of a member wherever it stands.
    parts = f"if(startswith(text, {literal(_STARTS)}), split(text, {literal(PAYLOAD)}, 2), NULL)"
    schema = f"string(substring(binary(parts[0]), {len(SCHEMA) + 1}))"
    is_cut = f"coalesce(size(parts) = 2 AND {_is_one('schema_text')}, false)"
    rest = (
        rows.selectExpr("*", f"{text} AS text")
        .selectExpr("*", f"{parts} AS parts")
        .selectExpr("*", f"{schema} AS schema_text")
        .selectExpr("*", f"{is_cut} AS is_cut")
        .selectExpr("*", f"if(is_cut, concat({literal(BEHIND)}, parts[1]), text) AS rest")
    )
    parsed = rest.withColumn("document", F.expr(f"try_parse_json({_wrapped('rest')})"))
    read = parsed.withColumn("members", F.try_variant_get("document", "$[0]", _MEMBERS))
    ends = f"try_variant_get(document, '$[1]', 'string') = {literal(_END)}"
    once = f"NOT ((is_cut OR {is_headless}) AND members.schema IS NOT NULL)"
    is_whole = f"coalesce({ends}, false) AND {once}"
    sound = {name: F.expr(f"if({is_whole}, {name}, NULL)") for name in ("document", "members")}
    return read.withColumns(sound)


def _is_one(text: str) -> str:
    """Whether text is one JSON value, and nothing else."""
    return f"get_json_object({_wrapped(text)}, '$[1]') = {literal(_END)}"


def _wrapped(text: str) -> str:
    """An array of text and `_END`, which is the second element only if the text is one value."""
    return f"concat('[', {text}, {literal(_REST)})"
