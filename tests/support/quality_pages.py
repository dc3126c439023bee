"""The pages of a source, from rows that many runs leave; also with hostile text in them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

from expectations import SUITES
from lakehouse.config import Settings
from lakehouse.quality.judgement import Measurement, judge
from lakehouse.quality.pages.writing import write_pages
from lakehouse.quality.reports.docs import write_docs
from lakehouse.quality.reports.report_files import reports_folder, write_report
from lakehouse.quality.reports.summary import read_recent, report_of
from lakehouse.spark.control.ledger import Ledger
from tests.expectations.samples import BAD, GOOD
from tests.support.payloads import PAYLOADS
from tests.support.quality_records import Story

# What a page would do, were it not escaped: run a script, ask for an address, turn its text around.
HOSTILE = (
    "<script>document.title='ran'</script>\"'><img src=https://evil.example/x onerror=alert(2)>"
    "</title></style></bdi>{{ 7*7 }}&lt;\u202egnp\u200f\u0000\ud800"
)
# So many payloads are shorter than what a list shows of a message.
_AT_ONCE = 5
LONG = "A" * 1_000_000
_LONG_TEXTS = ("ALTER TABLE", "No space left", "silver cannot follow", "0.00", "order_id")


def hostile(text: str) -> str:
    """The text with all of that behind it, and of some texts 1 MB."""
    # Neither JSON nor Parquet has lone surrogates; a page may be asked to show one all the same.
    harmful = f"{text}{HOSTILE}".encode(errors="backslashreplace").decode()
    return harmful + LONG if any(part in text for part in _LONG_TEXTS) else harmful


def payloads_in_turn() -> Callable[[str], str]:
    """Puts some payloads behind each text, the next ones behind the next: lists cut long texts."""
    parts = cycle(PAYLOADS[start : start + _AT_ONCE] for start in range(0, len(PAYLOADS), _AT_ONCE))
    return lambda text: "\n".join((text, *next(parts)))


def write_every_page(home: Path, told: Story) -> list[Path]:
    """A page of each kind: the source's, reports of whole and of failed runs, Data Docs, lists."""
    home.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(Settings.from_environment({"LAKEHOUSE_HOME": str(home)}))
    told.write(ledger)
    root = reports_folder(home, told.source)
    _write_docs(root / "docs", f"{told.runs:08d}", told)
    recent = read_recent(ledger, told.source)
    failed = [row.run_id for row in recent.runs if row.status == "failed"]
    *_, before, newest = dict.fromkeys(row.run_id for row in recent.runs)
    for run_id in (*failed, before):
        write_report(home, report_of(ledger, told.source, run_id, recent))
    write_pages(home, ledger, told.source, "mysql", newest)
    return sorted(root.rglob("*.html"))


def _write_docs(folder: Path, key: str, told: Story) -> None:
    bad = GOOD["silver"] | BAD["silver"]["no_duplicate_keys"]
    table = f"silver_{told.source}.{told.say('shop__order_items')}"
    silver = Measurement(table, bad, {"duplicate_keys": told.say("order_id")})
    bronze = Measurement("t/0", GOOD["bronze"], {})
    judged = (judge(SUITES["silver"], [silver]), judge(SUITES["bronze"], [bronze]))
    write_docs(folder, key, judged)
