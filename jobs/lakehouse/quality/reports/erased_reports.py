"""Keys in reports: the texts that name a subject's keys give way to a word, in every file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lakehouse.plan.remaking.erasing import ERASED, Names
from lakehouse.quality.reports.files import write_text
from lakehouse.quality.reports.report_files import reports_folder


def erase_in_reports(home: Path, source: str, names: Names) -> int:
    """Replace the names of keys in the files of a source's reports; gives how many had some."""
    found = 0
    for path in sorted(reports_folder(home, source).rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        texts = names.in_json if path.suffix == ".json" else (*names.in_html, *names.plain)
        found += _erase_in(path, texts)
    return found


def _erase_in(path: Path, texts: Iterable[str]) -> bool:
    before = path.read_text(encoding="utf-8", errors="surrogateescape")
    after = before
    for text in texts:
        after = after.replace(text, ERASED)
    if after == before:
        return False
    write_text(path, after)
    return True
