"""What schema versions say of columns: ranges of numbers in the source, losses told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.config import parse_source
from lakehouse.connectors import CONNECTORS
from lakehouse.names import TableIdentity
from lakehouse.quality.schemas.column_facts import column_facts
from lakehouse.quality.schemas.version_rows import ddl_rows
from tests.support.schema_events import change, column, data_row, event

TEXT = 'connector = "mysql"\ntopic_prefix = "shop"\n'
SHOP = parse_source(TEXT, "shop")
ORDERS = ("shop", "orders")
TABLE = TableIdentity("shop", None, "orders")


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("INT UNSIGNED", (0, 4_294_967_295)),
        ("int(10) unsigned zerofill", (0, 4_294_967_295)),
        ("TINYINT", (-128, 127)),
        ("TINYINT(1)", (-128, 127)),
        ("MEDIUMINT UNSIGNED", (0, 16_777_215)),
        ("BIGINT UNSIGNED", (0, 18_446_744_073_709_551_615)),
        ("VARCHAR(10)", None),
    ],
)
def test_a_type_of_the_source_bounds_its_numbers(
    written: str, bounds: tuple[int, int] | None
) -> None:
    rows = ddl_rows(SHOP, "run", (event(1, change("CREATE", column("Qty", written))),), ())

    found = column_facts(rows, SHOP, "run", [TABLE])[ORDERS].ranges

    assert found == ({"qty": bounds} if bounds else {})


def test_the_newest_type_counts_and_a_declared_one_before_all() -> None:
    events = (
        event(1, change("CREATE", column("id"), column("a", "TINYINT"))),
        event(2, change("ALTER", column("id"), column("a", "SMALLINT"))),
    )
    declared = parse_source(
        f'{TEXT}[tables."shop.orders"]\ncolumns.id = {{ type = "int unsigned" }}\n', "shop"
    )
    rows = ddl_rows(declared, "run", events, ())

    assert column_facts(rows, declared, "run", [TABLE])[ORDERS].ranges == {
        "id": (0, 4_294_967_295),
        "a": (-32_768, 32_767),
    }


def test_a_type_means_what_its_database_says() -> None:
    assert CONNECTORS["sqlserver"].ranges["tinyint"] == (0, 255)
    assert CONNECTORS["ticdc"].ranges["tinyint"] == (-128, 127)
    assert CONNECTORS["postgresql"].ranges == {}


def test_lossy_columns_are_told_by_the_run_that_brought_a_version() -> None:
    rows = [data_row(("born", "io.debezium.time.Date"), ("id", ""))]

    (told,) = column_facts(rows, SHOP, "run", [TABLE])[ORDERS].lossy
    assert told.startswith("born (zero dates arrive as")
    assert column_facts(rows, SHOP, "later", [TABLE])[ORDERS].lossy == ()

    masked = replace(rows[0], columns=rows[0].columns.replace('"doc": ""', '"doc": "masked: hash"'))
    assert column_facts([masked], SHOP, "run", [TABLE])[ORDERS].lossy == ()

    again = replace(rows[0], run_id="later", fingerprint="8")
    assert column_facts([*rows, again], SHOP, "later", [TABLE])[ORDERS].lossy == (told,)
