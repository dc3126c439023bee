"""The messages that the connectors' manuals print, run as sources: rows, or a stated reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakehouse.config import parse_source
from lakehouse.names import format_table
from lakehouse.plan.cuts.published import published_names
from lakehouse.plan.records import QUARANTINE
from lakehouse.spark.tables import full_name
from tests.support.archives import read_archive, write_archive
from tests.support.runs import Runs, laws_hold
from tests.support.sampling import EVERY_CASE, sample, share

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
CASES = sorted(path.parent for path in GOLDEN.glob("*/*/expected.json"))
CONNECTORS = {"db2", "mysql", "oracle", "postgresql", "ticdc"}

Rows = list[dict[str, object]]


@dataclass(frozen=True)
class Golden:
    """One folder: its messages, its TOML file, and what each run ends in."""

    folder: Path
    runs: Runs

    @property
    def expected(self) -> dict:
        return json.loads((self.folder / "expected.json").read_text(encoding="utf-8"))

    def archive(self, folder: Path, through_ms: int) -> Path:
        """What had arrived at a time."""
        arrived = [m for m in read_archive(self.folder) if m.timestamp_ms <= through_ms]
        return write_archive(folder / str(through_ms), arrived)

    def tables(self) -> dict[str, Rows]:
        """The published rows of each table, without what the pipeline adds."""
        source = self.runs.source
        names = published_names(self.runs.ledger.newest_cut(source.name))
        return {
            format_table(identity, source.connector): self._rows(
                full_name(f"silver_{source.name}.{name}")
            )
            for identity, name in names.items()
        }

    def _rows(self, table: str) -> Rows:
        rows = self.runs.spark.table(table).toArrow().to_pylist()
        bare = [{name: row[name] for name in row if name != "_cdc"} for row in rows]
        return sorted(bare, key=repr)

    def quarantined(self) -> Sequence[Mapping[str, object]]:
        rows = self.runs.ledger.rows(QUARANTINE, source=self.runs.source.name)
        places = sorted((row.topic, row.partition, row.offset, row.reason) for row in rows)
        return [
            dict(zip(("topic", "partition", "offset", "reason"), place, strict=True))
            for place in places
        ]


@pytest.fixture
def open_golden(spark, settings, tmp_path):
    def opened(folder: Path) -> Golden:
        name = f"golden_{folder.parent.name}_{folder.name}"
        source = parse_source((folder / "source.toml").read_text(encoding="utf-8"), name)
        return Golden(folder, Runs(spark.newSession(), settings, tmp_path, source))

    return opened


def test_the_manuals_of_all_five_connectors_are_typed_in():
    assert {folder.parent.name for folder in CASES} == CONNECTORS
    assert all((folder.parent / "README.md").is_file() for folder in CASES)


def test_printed_messages_are_applied_or_quarantined_with_their_reason(
    open_golden, tmp_path, figure: Callable[[str], None]
):
    sampled = sample(CASES, lambda folder: folder.parent.name)
    figure(f"folders of printed messages: {share(sampled, CASES)}")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda folder: run_all(open_golden(folder), tmp_path), sampled))


def run_all(golden: Golden, tmp_path: Path) -> None:
    name, expected = golden.runs.source.name, golden.expected
    # The last run comes again: nothing may change. Recorded archives show it in `make test`.
    for run in (*expected["runs"], *(expected["runs"][-1:] if EVERY_CASE else ())):
        outcomes = golden.runs.steps(golden.archive(tmp_path / name, run["through_ms"]))
        failed = {s: o.message for s, o in outcomes.items() if o.status != "succeeded"}
        assert failed == {}, name
        assert laws_hold(outcomes["apply"]), name
        assert golden.tables() == run["tables"], (name, run["through_ms"])
    assert golden.quarantined() == expected["quarantine"], name
