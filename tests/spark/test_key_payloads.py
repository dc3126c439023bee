"""Texts that would act are names of key columns, in whole runs of a first load and two changes.

A table keeps the names of its key in a property of itself, as JSON in a statement of Spark's SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.spark.metadata import load_metadata
from lakehouse.spark.staging.properties import properties_of
from lakehouse.spark.tables import full_name
from tests.support.debezium import Postgres, Row, Table, column
from tests.support.payloads import KINDS, PAYLOADS, PROPERTIES, kind_of
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE, sample, share

NAME = "key_payloads"
PLAIN = ("id", "more")
_KEYS: Mapping[str, tuple[str, ...]] = (
    {kind.lower(): texts for kind, texts in KINDS.items()}
    if EVERY_CASE
    else {"any": (*PROPERTIES, *sample(PAYLOADS, kind_of))}
)
# Table → the columns of its key.
KEYS: Mapping[str, tuple[str, ...]] = {
    "plain": PLAIN,
    **_KEYS,
}
TABLES = {
    name: Table(name, [column(text, "string", optional=False) for text in (*key, "v")], key=(*key,))
    for name, key in KEYS.items()
}


def row(name: str, number: int, value: str) -> Row:
    """A row whose key is its columns' names and a number."""
    return {text: f"{text} {number}" for text in KEYS[name]} | {"v": value}


def load(pg: Postgres) -> None:
    for name, table in TABLES.items():
        pg.snapshot(table, [row(name, number, "read") for number in (1, 2, 3)])


def update(pg: Postgres) -> None:
    pg.transact(*((table, "u", None, row(name, 2, "set")) for name, table in TABLES.items()))


def delete(pg: Postgres) -> None:
    pg.transact(
        *((table, "d", row(name, 3, "read"), None) for name, table in TABLES.items()),
        *((table, "c", None, row(name, 4, "new")) for name, table in TABLES.items()),
    )


@pytest.fixture(scope="module")
def runs(spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{NAME}"\n', NAME)
    found = Runs(spark, settings, tmp_path_factory.mktemp("archives"), source)
    pg = Postgres(NAME)
    for told in (load, update, delete):
        told(pg)
        assert laws_hold(found.run(pg)["apply"])
    return found


def test_rows_come_out_as_they_were_sent(runs: Runs, figure: Callable[[str], None]) -> None:
    for name, key in KEYS.items():
        found = runs.spark.table(full_name(f"silver_{NAME}.public__{name}")).collect()
        stored = [{text: each[text] for text in (*key, "v")} for each in found]
        told = ((1, "read"), (2, "set"), (4, "new"))
        assert sorted(stored, key=lambda each: str(each[key[0]])) == [
            row(name, number, value) for number, value in told
        ]
    assert runs.ledger.quarantine(NAME) == []
    tried = [text for key in KEYS.values() for text in key if text in PAYLOADS]
    figure(f"{share(tried, PAYLOADS)} payloads as names of key columns")


def test_a_table_s_properties_are_those_of_any_other(runs: Runs) -> None:
    catalog = runs.ledger.catalog
    for name, key in KEYS.items():
        table = f"silver_{NAME}.public__{name}"
        assert properties_of(catalog, table).key == key
        for each in (table, f"{table}__state"):
            plain = load_metadata(catalog, each.replace(f"__{name}", "__plain"))
            made = load_metadata(catalog, each)
            assert made is not None
            assert plain is not None
            assert {**made.properties, "lakehouse.key": ""} == {
                **plain.properties,
                "lakehouse.key": "",
            }


def test_no_file_is_where_none_belongs(runs: Runs, settings: Settings) -> None:
    root = Path(urlsplit(settings.warehouse).path).resolve()
    for name in KEYS:
        for ending in ("", "__state"):
            table = full_name(f"silver_{NAME}.public__{name}{ending}")
            for each in runs.spark.sql(f"SELECT file_path FROM {table}.files").collect():
                path = Path(urlsplit(each.file_path).path)
                assert path.resolve().is_relative_to(root), path
    assert not [path for path in Path("/tmp").iterdir() if "hacked" in path.name]
