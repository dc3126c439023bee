"""A masked value is in bronze and nowhere else: not in a table, a report, a plan or a log.

A Spark application of its own runs over rows whose masked columns hold canaries; then all that it
left behind is searched. The same history without masks shows that the search would find them.
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.config import parse_source
from tests.support.canaries import Search
from tests.support.debezium import Postgres, Table, column
from tests.support.event_logs import told_everything

ROOT = Path(__file__).resolve().parents[2]
SECRET = "the secret canary of keyed hashes"
MONEY = {
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "18"},
}
CENTS = 771234577123457
MASKED = {
    "email": "hash",
    "name": "hash",
    "amount": "hash",
    "photo": "hash",
    "card": "drop",
    "phone": "redact",
    "pin": "redact",
    "added": "hash",
    "gone": "drop",
    "blank": "redact",
}
# What a search looks for, by column; numbers as digits.
CANARIES = {name: f"canary-{name}-7c1f" for name in MASKED if name not in ("amount", "pin")} | {
    "amount": "7712345771234.57",
    "pin": "771234577",
}
# Which rows break it is told by their keys.
RULES = (
    '[[tables."public.people".rules]]',
    'name = "one"',
    'description = "None is 1."',
    'violated = "n = 1"',
)
TEXTS = {name: text for name, text in CANARIES.items() if text.startswith("canary")}


def history(name: str, folder: Path) -> list[Path]:
    """Insert, update, delete, key change, bad values, columns added with a default: two runs."""
    columns = [
        column("email", "string", optional=False),
        column("name", "string"),
        column("amount", "bytes", **MONEY),
        column("photo", "bytes"),
        column("card", "string", optional=False),
        column("phone", "string"),
        column("pin", "int32", optional=False),
        column("n", "int32"),
        column("must", "string", optional=False),
    ]
    table, pg = Table("people", columns, key=("email",)), Postgres(name)
    pg.snapshot(table, [person("0"), person("1")])
    pg.transact((table, "u", None, person("0", n=2)), (table, "c", None, person("2")))
    first = pg.archive(folder / "first")
    more = {added: TEXTS[added] for added in ("added", "gone", "blank")}
    columns += [column(added, "string", default=text) for added, text in more.items()]
    pg.transact(
        (table, "u", person("0"), person("5", name="__debezium_unavailable_value", **more)),
        (table, "d", person("1"), None),
        (table, "c", None, person("6", amount=f"?{TEXTS['name']}", **more)),
        (table, "c", None, person("7", pin=TEXTS["name"], n="none", **more)),
        (table, "c", None, person("8", **more)),
        # Fails an expectation, so that the report names its key.
        (table, "c", None, person("9", must=None, **more)),
    )
    pg.send_raw(f"{name}.public.people", None, f'{{"payload": "{TEXTS["card"]}"')
    return [first, pg.archive(folder / "second")]


def person(number: str, **more: object) -> dict[str, object]:
    return {
        "email": TEXTS["email"] + number,
        "name": TEXTS["name"] + number,
        "amount": base64.b64encode(CENTS.to_bytes(8, "big")).decode(),
        "photo": base64.b64encode(TEXTS["photo"].encode()).decode(),
        "card": TEXTS["card"] + number,
        "phone": TEXTS["phone"] + number,
        "pin": 771234577,
        "n": 1,
        "must": "be there",
    } | more


def run(home: Path, masks: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Do the runs; what the application and its JVM printed, at level INFO."""
    name = "canary"
    lines = [f'{column} = {{ mask = "{mask}" }}' for column, mask in masks.items()]
    options = "\n".join([*RULES, '[tables."public.people".columns]', *lines])
    source = parse_source(f'connector = "postgresql"\ntopic_prefix = "{name}"\n{options}', name)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    environment = os.environ | told_everything(home)
    environment |= {"LAKEHOUSE_HOME": str(home), "LAKEHOUSE_MASK_KEY": SECRET}
    environment["PYTHONPATH"] = os.pathsep.join((str(ROOT / "jobs"), str(ROOT)))
    archives = history(name, home.parent / f"{home.name}_archives")
    command = [sys.executable, "-m", "tests.support.application", source.model_dump_json()]
    ended = subprocess.run(
        [*command, *map(str, archives)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=500,
    )
    assert b"publish: succeeded: cut" in ended.stdout, ended.stdout[-4000:]
    return ended.stdout


def found_in(home: Path, printed: bytes) -> dict[str, set[str]]:
    """Column → where its canary is, bronze's data left out."""
    search = Search(CANARIES | {"the secret": SECRET})
    search.look("output", printed)
    data = home / "warehouse" / "bronze" / "canary" / "data"
    search.look_below(home, (str(path.relative_to(home)) for path in data.rglob("*")))
    return {name: search.found.get(name, set()) for name in search.canaries}


def test_a_masked_value_is_in_bronze_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "masked"
    found = found_in(home, run(home, MASKED, monkeypatch))
    assert {name: places for name, places in found.items() if places} == {}
    text = (home / "reports" / "canary" / "latest" / "report.json").read_text(encoding="utf-8")
    named = [sample["key"] for each in json.loads(text)["findings"] for sample in each["samples"]]
    assert len(named) > 1
    assert all(re.fullmatch(r'\{"email":"[0-9a-f]{64}"\}', key) for key in named)


@pytest.mark.further
def test_the_search_finds_every_canary_where_nothing_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "plain"
    found = found_in(home, run(home, {}, monkeypatch))
    assert {name for name, places in found.items() if not places} == {"the secret"}
    assert any("people__state" in place for place in found["email"])
    assert any(place.startswith("warehouse/quality/schema_versions") for place in found["gone"])
