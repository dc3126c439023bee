"""Documents: the payload of a message as VARIANT, and its schema, which stays text.

In: the bytes of a key or a value. Out: what stands in them. A message that carries its schema has
some four times the bytes, the same ones in each message. Making a VARIANT of them took 250 of 300
microseconds; text that is known to be JSON (Jackson skips through it) is enough to know it by.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.spark.reasons import MAX_VALUE_BYTES
from lakehouse.spark.sql import literal

# As Kafka's JsonConverter writes both
# (https://kafka.apache.org/documentation/#connect_running): the schema comes first.
_SCHEMA, _PAYLOAD = '{"schema":', ',"payload":'
_STARTS = f"{_SCHEMA}{{"


def with_documents(rows: DataFrame) -> DataFrame:
    """Parse `value`, which is dropped, and `key`.

    Returns:
        The rows with `payload`, `row_schema`: JSON text, `is_json`, and `key_payload`.
    """
    value = _opened(rows, "value")
    opened = value.selectExpr(
        *rows.columns,
        "document IS NOT NULL AS is_json",
        f"coalesce({_member('payload')}, {_whole()}) AS payload",
        f"if(is_cut, schema_text, {_member('schema', 'string')}) AS row_schema",
    )
    key = _opened(opened, "key")
    kept = (name for name in opened.columns if name != "value")
    return key.selectExpr(*kept, f"coalesce({_member('payload')}, {_whole()}) AS key_payload")


def _opened(rows: DataFrame, column: str) -> DataFrame:
    """With the one JSON document of a column, as `{"v": …}`; NULL when it is none, or several."""
    text = f"if(octet_length({column}) <= {MAX_VALUE_BYTES}, string({column}), NULL)"
    # Quotes inside of text are escaped, so that this is the name of a member wherever it stands.
    head = rows.selectExpr("*", f"{text} AS text").selectExpr(
        "*", f"substring_index(text, {literal(_PAYLOAD)}, 1) AS head"
    )
    begins = f"startswith(head, {literal(_STARTS)}) AND octet_length(head) < octet_length(text)"
    cut = head.selectExpr(
        "*", f"if({begins}, substring(head, {len(_SCHEMA) + 1}), NULL) AS schema_text"
    ).selectExpr("*", f"coalesce({_is_one('schema_text')}, false) AS is_cut")
    rest = f"concat('{{', string(substring({column}, octet_length(head) + 2)))"
    parsed = cut.withColumn(
        "document", F.expr(f"try_parse_json({_wrapped(f'if(is_cut, {rest}, text)')})")
    )
    # Text behind the document would end the wrapping object early, and `one` would be missing.
    whole = "try_variant_get(document, '$.one', 'int') = 1"
    once = f"NOT (is_cut AND {_member('schema')} IS NOT NULL)"
    return parsed.withColumn("document", F.expr(f"if({whole} AND {once}, document, NULL)"))


def _is_one(text: str) -> str:
    """Whether text is one JSON value, and nothing else."""
    return f"json_array_length(concat('[', {text}, ']')) = 1"


def _wrapped(text: str) -> str:
    return f"concat('{{\"v\":', {text}, ',\"one\":1}}')"


def _member(name: str, kind: str = "variant") -> str:
    return f"try_variant_get(document, {literal(f'$.v.{name}')}, {literal(kind)})"


def _whole() -> str:
    return "try_variant_get(document, '$.v', 'variant')"
