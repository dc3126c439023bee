"""Half surrogate pairs in JSON text: escapes for which UTF-8, and so every table, has no bytes.

In: JSON text. Out: whether it escapes half a pair. Spark would make `?` of it.
"""

from __future__ import annotations

import pyspark.sql.functions as F
from pyspark.sql import Column

_LONE = (
    r"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    r"|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
)


def has_lone_surrogate(text: Column) -> Column:
    """Whether JSON text escapes half a surrogate pair; an escaped backslash starts no escape."""
    escapes = F.replace(text, F.lit("\\\\"), F.lit(" "))
    return text.contains("\\u") & escapes.rlike(_LONE)
