"""Masks: what a column of a source becomes before anything of it is stored.

In: a table's columns and the masks of its TOML file. Out: columns whose type says how a token is
masked (`Kind.HASHED`, `Kind.REDACTED`), without those that are dropped. Everything behind sees
these columns alone: schemas, defaults, keys, row images, reports.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace

from lakehouse.config import TableConfig
from lakehouse.plan.batches.tables import default_token
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType

# The doc of every masked column begins so.
MASKED = "masked: "
REDACTED_TEXT = "***"
_FINGERPRINT_OF = b"lakehouse mask key"
# Of these types Spark's text of a value is the token that the message carries.
_PLAIN = ("string", "int", "bigint", "boolean")


def key_fingerprint(secret: bytes) -> str:
    """Names a secret without telling it; empty for no secret."""
    return keyed_hash(secret, _FINGERPRINT_OF)[:12] if secret else ""


def keyed_hash(secret: bytes, value: bytes) -> str:
    """HMAC-SHA-256 of a value in hexadecimal digits, as silver holds it."""
    return hmac.new(secret, value, hashlib.sha256).hexdigest()


def mask_docs(options: TableConfig, fingerprint: str) -> dict[str, str]:
    """The docs of a table's masked columns by lower-case name; a dropped column is never stored.

    Args:
        options: What the TOML file says about the table.
        fingerprint: Names the secret that values are hashed with.
    """
    docs = {
        "hash": f"{MASKED}keyed hash, key {fingerprint}",
        "redact": f"{MASKED}redacted",
        "drop": f"{MASKED}dropped",
    }
    return {name: docs[mask] for name, mask in masks_of(options).items()}


def masks_of(options: TableConfig) -> dict[str, str]:
    """How a table's columns are masked, by their lower-case names."""
    return {name.lower(): column.mask for name, column in options.columns.items() if column.mask}


def masked_schema(schema: RowSchema, options: TableConfig, secret: bytes) -> RowSchema:
    """The columns of a table as everything behind may see them.

    Args:
        schema: As the messages carry it, or prove it.
        options: What the TOML file says about the table.
        secret: What values are hashed with; empty where no column is.
    """
    masks = masks_of(options)
    if not masks:
        return schema
    if schema.problem:
        # What is wrong may quote a default value.
        return RowSchema(problem="its schema cannot be read; why is withheld, for it has masks")
    docs = mask_docs(options, key_fingerprint(secret))
    columns: list[Column] = []
    for column in schema.columns:
        mask = masks.get(column.name.lower())
        if mask is None:
            columns.append(column)
        elif mask != "drop":
            masked = _hashed(column, secret) if mask == "hash" else _redacted(column)
            doc = docs[column.name.lower()]
            columns.append(replace(masked, semantic="", doc=doc, allowed=""))
    dropped = tuple(c.name for c in schema.columns if masks.get(c.name.lower()) == "drop")
    known = {column.name.lower() for column in schema.columns}
    unused = (name for name, c in options.columns.items() if c.mask and name.lower() not in known)
    return RowSchema(tuple(columns), withheld=dropped, unused_masks=tuple(unused))


def _hashed(column: Column, secret: bytes) -> Column:
    token = default_token(column)
    default = None
    # A default that Python cannot spell as Spark does is left out: older rows have no value.
    if token is not None and (column.type.kind, column.type.spark) in _HASHABLE:
        default = json.dumps(keyed_hash(secret, token.encode()))
    kind = ValueType(Kind.HASHED, "string", element=column.type)
    return replace(column, type=kind, default=default)


_HASHABLE = frozenset((Kind.CAST, spark) for spark in _PLAIN)


def _redacted(column: Column) -> Column:
    kind = ValueType(Kind.REDACTED, column.type.spark, element=column.type)
    if column.type.spark != "string":
        return replace(column, type=kind, default=None, optional=True)
    has_default = column.default is not None
    return replace(column, type=kind, default=json.dumps(REDACTED_TEXT) if has_default else None)
