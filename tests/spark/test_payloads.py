"""Texts that would act go through whole runs as values, keys, columns, defaults and table names.

What counts is what they did: nothing. Rows hold them as they were sent, there is no table, file or
page but the expected ones, and nothing was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.quality.pages.writing import write_pages
from lakehouse.spark.tables import full_name
from tests.support.debezium import Postgres, Table, column
from tests.support.payloads import COMPUTED, PAYLOADS, kind_of
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import sample, share

NAME = "payloads"
SOURCE = f"""connector = "postgresql"
topic_prefix = "{NAME}"
[tables."public.keyed"]
history = true
delete = "soft"
"""
# A table each: of these `make test` takes one of each kind.
TABLES = sample(PAYLOADS, kind_of)
CHANGED = " again"


def table_name(text: str) -> str:
    """A name of the payload that no other one has; longer ones than 200 fit no topic."""
    return f"{text[:200]}{PAYLOADS.index(text)}"


def tell(pg: Postgres) -> None:
    """Each payload as key and value, column with default, and table; then changes of all keys."""
    keyed = Table("keyed", [column("id", "string", optional=False), column("v", "string")])
    pg.snapshot(keyed, [{"id": text, "v": text} for text in PAYLOADS])
    names = [column(text, "string", default=text) for text in PAYLOADS]
    wide = Table("wide", [column("id", "int32", optional=False), *names])
    pg.transact((wide, "c", None, {"id": 1} | {text: text for text in PAYLOADS}))
    for text in TABLES:
        own = Table(table_name(text), [column("id", "int32", optional=False)])
        pg.transact((own, "c", None, {"id": 1}))


def change(pg: Postgres) -> None:
    keyed = Table("keyed", [column("id", "string", optional=False), column("v", "string")])
    half = len(PAYLOADS) // 2
    pg.transact(
        *((keyed, "u", None, {"id": text, "v": text + CHANGED}) for text in PAYLOADS[:half]),
        *((keyed, "d", {"id": text, "v": None}, None) for text in PAYLOADS[half:]),
    )


def files_around(*folders: Path) -> set[Path]:
    return {path for folder in folders for path in folder.iterdir()}


@pytest.fixture(scope="module")
def around(settings: Settings) -> tuple[Path, ...]:
    """Folders that nothing may be written to: where tests run, and what holds the home."""
    return Path.cwd(), settings.home.parent, Path("/tmp/hacked").parent


@pytest.fixture(scope="module")
def runs(spark: SparkSession, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("archives")
    found, pg = Runs(spark, settings, folder, parse_source(SOURCE, NAME)), Postgres(NAME)
    for told in (tell, change):
        told(pg)
        assert laws_hold(found.run(pg)["apply"])
    return found


def test_each_is_stored_as_it_was_sent(runs: Runs, figure: Callable[[str], None]) -> None:
    half = len(PAYLOADS) // 2
    live = [(text, text + CHANGED, "u") for text in PAYLOADS[:half]]
    ended = [(text, text, "d") for text in PAYLOADS[half:]]
    assert runs.rows("keyed", "id", "v", "_cdc.op") == sorted(live + ended)
    [row] = runs.spark.table(full_name(f"silver_{NAME}.public__wide")).collect()
    stored = {name: value for name, value in row.asDict().items() if name in PAYLOADS}
    assert stored == {text: text for text in PAYLOADS}
    assert runs.ledger.quarantine(NAME) == []
    count = share(TABLES, PAYLOADS)
    figure(f"{len(PAYLOADS)} payloads as keys, values, columns and defaults, {count} as tables")


def test_there_is_a_table_for_each_and_no_other(runs: Runs) -> None:
    found = runs.spark.sql(f"SHOW TABLES IN lakehouse.silver_{NAME}").collect()
    names = {row.tableName for row in found if not row.tableName.endswith("__state")}
    named = {"public__keyed", "public__keyed__history", "public__wide"}
    assert named < names
    assert len(names) == len(named) + len(TABLES)
    assert not [name for name in names if not name.replace("_", "").isalnum()]
    for name in names - named:
        assert runs.spark.table(full_name(f"silver_{NAME}.{name}")).count() == 1


def test_no_file_is_where_none_belongs(
    runs: Runs, settings: Settings, around: tuple[Path, ...]
) -> None:
    root = Path(urlsplit(settings.warehouse).path).resolve()
    for each in runs.spark.sql(f"SHOW TABLES IN lakehouse.silver_{NAME}").collect():
        name = full_name(f"silver_{NAME}.{each.tableName}")
        for row in runs.spark.sql(f"SELECT file_path FROM {name}.files").collect():
            path = Path(urlsplit(row.file_path).path)
            assert path.resolve().is_relative_to(root), path
    assert not [path for path in files_around(*around) if "hacked" in path.name]
    assert not [path for path in settings.home.rglob("*") if path.name == "hacked"]


def test_no_page_has_a_script_or_what_a_template_would_compute(
    runs: Runs, settings: Settings
) -> None:
    newest = runs.ledger.runs(NAME)[-1].run_id
    report = write_pages(settings.home, runs.ledger, NAME, "postgresql", newest)
    pages = list(report.parents[1].rglob("*.html"))
    assert len(pages) >= 4
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert COMPUTED not in text, page
        assert "<script" not in text.lower(), page
