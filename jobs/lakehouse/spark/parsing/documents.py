"""Documents: the payload of a message as VARIANT, and its schema, which stays text.

In: the bytes of a key or a value. Out: what stands in them. A message that carries its schema has
some four times the bytes, the same ones in each message. Making a VARIANT of them took 250 of 300
microseconds; text that is known to be JSON (Jackson skips through it) is enough to know it by.
"""

from __future__ import annotations

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
# All in one look: Spark leaves a path that leads nowhere by an exception, and those that each
# message lacks took a quarter of the CPU of parsing (measured).
_MEMBERS = "struct<v:struct<payload:variant,schema:variant>,one:struct<>>"
_PAYLOAD = "coalesce(members.v.payload, try_variant_get(document, '$.v', 'variant'))"


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
        "if(is_cut, schema_text, string(members.v.schema)) AS row_schema",
    )
    key = _opened(opened, "key_document", "is_key_cut")
    dropped = ("value", "value_text", "key_document", "is_key_cut")
    kept = (name for name in opened.columns if name not in dropped)
    return key.selectExpr(*kept, "value_text AS text", f"{_PAYLOAD} AS key_payload")


def _opened(rows: DataFrame, column: str, is_headless: str) -> DataFrame:
    """With the one JSON document of a column, as `{"v": …}`; NULL when it is none, or several."""
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
    read = parsed.withColumn("members", F.try_variant_get("document", "$", _MEMBERS))
    # Text behind the document would end the wrapping object early, and `one` would be missing.
    once = f"NOT ((is_cut OR {is_headless}) AND members.v.schema IS NOT NULL)"
    is_whole = f"members.one IS NOT NULL AND {once}"
    sound = {name: F.expr(f"if({is_whole}, {name}, NULL)") for name in ("document", "members")}
    return read.withColumns(sound)


def _is_one(text: str) -> str:
    """Whether text is one JSON value, and nothing else."""
    return f"json_array_length(concat('[', {text}, ']')) = 1"


def _wrapped(text: str) -> str:
    return f"concat('{{\"v\":', {text}, ',\"one\":{{}}}}')"
