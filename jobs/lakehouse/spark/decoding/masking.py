"""The secret of keyed hashes, as columns that the decoding of hashed values reads.

In: rows of a table that has hashed columns. Out: the rows with `mask_inner` and `mask_outer`. The
secret is data of a relation, never a literal: plans, their pages and errors show literals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import pyarrow as pa
import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.schemas.types import Column, Kind
from lakehouse.spark.decoding.decode import MASK_INNER, MASK_OUTER

_BLOCK = 64


def with_mask_key(rows: DataFrame, columns: Iterable[Column], secret: bytes) -> DataFrame:
    """The rows with what hashed columns are decoded with; as they are where there are none.

    Args:
        rows: The rows of a table.
        columns: The columns of their schema versions.
        secret: What values are hashed with.
    """
    if not any(column.type.kind is Kind.HASHED for column in columns):
        return rows
    inner, outer = hmac_pads(secret)
    key = pa.table({MASK_INNER: [inner], MASK_OUTER: [outer]})
    return rows.crossJoin(F.broadcast(rows.sparkSession.createDataFrame(key)))


def hmac_pads(secret: bytes) -> tuple[bytes, bytes]:
    """What HMAC-SHA-256 puts before the message, and before the inner hash (RFC 2104)."""
    key = hashlib.sha256(secret).digest() if len(secret) > _BLOCK else secret
    padded = key.ljust(_BLOCK, b"\0")
    return bytes(byte ^ 0x36 for byte in padded), bytes(byte ^ 0x5C for byte in padded)
