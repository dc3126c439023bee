"""Masks: what of a column is known behind the schema, and the secret of keyed hashes."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from lakehouse.config import mask_secret, parse_source
from lakehouse.config.table_sections import ColumnConfig, TableConfig
from lakehouse.errors import ConfigError
from lakehouse.plan.batches.masks import key_fingerprint, keyed_hash, masked_schema
from lakehouse.plan.schemas.row_schema import RowSchema
from lakehouse.plan.schemas.types import Column, Kind, ValueType
from lakehouse.quality.schemas import ddl
from lakehouse.quality.schemas.version_rows import ddl_rows

SECRET = b"0123456789abcdef"
TEXT, INT = ValueType(Kind.CAST, "string"), ValueType(Kind.CAST, "int")
DECIMAL = ValueType(Kind.DECIMAL, "decimal(10,2)", 2)


def options(**masks: str) -> TableConfig:
    return TableConfig(columns={name: ColumnConfig(mask=mask) for name, mask in masks.items()})


def masked(column: Column, mask: str) -> Column:
    found = masked_schema(RowSchema((column,)), options(**{column.name: mask}), SECRET)
    return found.columns[0]


def test_a_dropped_column_is_not_known_at_all():
    columns = (Column("id", INT, optional=False), Column("Card", TEXT, optional=True))
    found = masked_schema(RowSchema(columns), options(card="drop"), b"")
    assert (found.columns, found.unused_masks) == (columns[:1], ())


def test_a_mask_without_its_column_is_told():
    columns = (Column("id", INT, optional=False),)
    found = masked_schema(RowSchema(columns), options(ID="hash", cadr="drop"), SECRET)
    assert found.unused_masks == ("cadr",)


def test_a_hashed_column_is_text_whatever_it_was():
    column = Column("amount", DECIMAL, optional=False, semantic="Decimal")
    found = masked(column, "hash")
    assert (found.type.spark, found.type.kind, found.type.element) == (
        "string",
        Kind.HASHED,
        DECIMAL,
    )
    assert (found.semantic, found.optional) == ("", False)
    assert found.doc == f"masked: keyed hash, key {key_fingerprint(SECRET)}"


@pytest.mark.parametrize(
    ("kind", "default", "text"),
    [(TEXT, "secret", b"secret"), (INT, 7, b"7"), (ValueType(Kind.CAST, "boolean"), True, b"true")],
)
def test_a_default_is_hashed_as_a_value_is(kind: ValueType, default: object, text: bytes):
    column = Column("a", kind, optional=True, default=json.dumps(default))
    expected = hmac.new(SECRET, text, hashlib.sha256).hexdigest()
    assert masked(column, "hash").default == json.dumps(expected)


def test_a_default_whose_text_only_spark_knows_is_left_out():
    column = Column("a", DECIMAL, optional=True, default='"AfQ="')
    assert masked(column, "hash").default is None


def test_a_redacted_column_keeps_its_type_and_only_text_has_a_constant():
    text = masked(Column("a", TEXT, optional=False, default='"secret"'), "redact")
    assert (text.type.spark, text.default, text.optional) == ("string", '"***"', False)
    number = masked(Column("a", INT, optional=False, default="7"), "redact")
    assert (number.type.spark, number.default, number.optional) == ("int", None, True)


def test_what_is_wrong_with_a_schema_is_withheld_where_there_are_masks():
    broken = RowSchema(problem="fields 'secret': expected a list")
    assert "secret" not in masked_schema(broken, options(a="drop"), b"").problem
    assert masked_schema(broken, TableConfig(), b"") == broken


def test_a_fingerprint_names_the_secret_and_does_not_tell_it():
    assert key_fingerprint(b"") == ""
    assert key_fingerprint(SECRET) == key_fingerprint(SECRET) != key_fingerprint(SECRET + b"0")
    assert len(key_fingerprint(SECRET)) == 12
    assert keyed_hash(SECRET, b"v") == hmac.new(SECRET, b"v", hashlib.sha256).hexdigest()


SOURCE = """
connector = "postgresql"
topic_prefix = "shop"
[tables."public.people"]
columns.email = { mask = "hash" }
"""


def test_a_hash_needs_its_secret():
    source = parse_source(SOURCE, "shop")
    assert mask_secret(source, {"LAKEHOUSE_MASK_KEY": "0123456789abcdef"}) == SECRET
    for given in ({}, {"LAKEHOUSE_MASK_KEY": "tooshort"}):
        with pytest.raises(ConfigError, match="LAKEHOUSE_MASK_KEY") as refused:
            mask_secret(source, given)
        assert 'tables."public.people".columns.email' in str(refused.value)
        assert "tooshort" not in str(refused.value)
    plain = parse_source(SOURCE.replace("hash", "redact"), "shop")
    assert mask_secret(plain, {}) == b""


def test_a_statement_about_masked_columns_is_withheld_with_their_defaults():
    text = 'connector = "mysql"\ntopic_prefix = "shop"\n'
    text += '[tables."shop.people"]\ncolumns.card = { mask = "drop" }\n'
    document = {
        "source": {},
        "ddl": "ALTER TABLE people ADD card VARCHAR(20) DEFAULT 'canary' COMMENT 'canary'",
        "tableChanges": [
            {
                "type": "ALTER",
                "id": '"shop"."people"',
                "table": {
                    "primaryKeyColumnNames": ["id"],
                    "columns": [
                        {"name": "id", "typeName": "INT", "optional": False},
                        {
                            "name": "CARD",
                            "typeName": "ENUM",
                            "optional": True,
                            "defaultValueExpression": "canary",
                            "enumValues": ["'canary'"],
                            "comment": "canary",
                        },
                    ],
                },
            }
        ],
    }
    message = ddl.SchemaMessage("shop", 0, 7, "1", json.dumps(document))
    event = ddl.parse_event(message, "mysql")
    (row,) = ddl_rows(parse_source(text, "shop"), "run", (event,), ())
    assert row.ddl == "withheld: the table has masked columns"
    assert [column["name"] for column in json.loads(row.columns)] == ["id", "CARD"]
    assert "canary" not in row.columns
    # The same again is no change, although what is recorded has no default.
    again = (event, replace_offset(event))
    assert len(ddl_rows(parse_source(text, "shop"), "run", again, ())) == 1
    (open_row,) = ddl_rows(parse_source(text.split("[")[0], "shop"), "run", (event,), ())
    assert open_row.ddl == document["ddl"]
    assert open_row.columns.count("canary") == 3


def replace_offset(event: ddl.SchemaEvent) -> ddl.SchemaEvent:
    return replace(event, message=replace(event.message, offset=8))
