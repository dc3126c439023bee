"""Runs of sources with bad inputs, and what is left of each case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from lakehouse.config import Settings, parse_source
from lakehouse.plan.cuts.published import excluded_of, published_names
from lakehouse.plan.records import QUARANTINE
from lakehouse.steps.context import StepOutcome
from tests.support.archives import Message, write_archive
from tests.support.bad_dialects import BY_CONNECTOR, POSTGRESQL
from tests.support.bad_input import Case, Dialect, Event, envelope_schema, messages
from tests.support.bad_messages import CASES
from tests.support.bad_values import COLUMNS, VALUES
from tests.support.runs import Runs

VALUES_TABLE = "all_values"
ALL: dict[str, tuple[Dialect, dict[str, Case]]] = {
    "postgresql": (POSTGRESQL, CASES),
    **BY_CONNECTOR,
}
Row = dict[str, object]


@dataclass
class BadRun:
    """One source with one table for each case, after its run."""

    runs: Runs
    sent: Mapping[str, list[Message]]
    outcomes: Mapping[str, StepOutcome]

    def quarantined(self, case: str) -> list[tuple[int, str, str]]:
        """Offset, reason code and detail of the case's quarantined messages."""
        topic = self.sent[case][0].topic
        return [found[1:] for found in self.quarantine_rows if found[0] == topic]

    @cached_property
    def quarantined_tables(self) -> set[tuple[str, str]]:
        """Reason code and table of what is quarantined."""
        rows = self.runs.ledger.rows(QUARANTINE, source=self.runs.source.name)
        return {(row.reason, row.table) for row in rows}

    @cached_property
    def quarantine_rows(self) -> list[tuple[str, int, str, str]]:
        rows = self.runs.ledger.rows(QUARANTINE, source=self.runs.source.name)
        return sorted((row.topic, row.offset, row.reason, row.detail) for row in rows)

    @cached_property
    def _names(self) -> dict[str, str]:
        cut = self.runs.ledger.newest_cut(self.runs.source.name)
        return {identity.table: name for identity, name in published_names(cut).items()}

    @cached_property
    def held(self) -> dict[str, str]:
        """Silver table → why the cut leaves it behind."""
        cut = self.runs.ledger.newest_cut(self.runs.source.name)
        return {name: table.reason for name, table in excluded_of(cut).items()}

    @cached_property
    def findings(self) -> tuple[str, ...]:
        return tuple(self.outcomes["apply"].detail["findings"])

    def silver(self, table: str) -> str:
        """Namespace and name of a table's silver table."""
        held = [name for name in self.held if name.endswith(f"__{table.lower()}")]
        name = self._names.get(table)
        return held[0] if name is None else f"silver_{self.runs.source.name}.{name}"

    def rows(self, table: str) -> list[Row]:
        """The published rows of a table, by id; none where it has none yet."""
        catalog = self.runs.ledger.catalog
        if not catalog.table_exists(self.silver(table)):
            return []
        found = catalog.load_table(self.silver(table)).scan().to_arrow().to_pylist()
        return sorted(found, key=lambda row: row["id"])


def run_all(spark: SparkSession, settings: Settings, folder: Path, connector: str) -> BadRun:
    """Land the cases of one connector and do one run."""
    dialect, cases = ALL[connector]
    prefix = f"bad_{connector}"
    text = f'connector = "{connector}"\ntopic_prefix = "{prefix}"\n{dialect.toml}'
    sent = messages(dialect, prefix, cases)
    if dialect is POSTGRESQL:
        sent[VALUES_TABLE] = values(prefix)
    runs = Runs(spark.newSession(), settings, folder, parse_source(text, prefix))
    archive = write_archive(folder / connector, [one for each in sent.values() for one in each])
    return BadRun(runs, sent, runs.steps(archive))


def values(prefix: str) -> list[Message]:
    """One table whose rows have one odd value each, in the order of `VALUES`."""
    columns = [
        {"type": "int32", "optional": False, "field": "id"},
        *({**column, "field": name} for name, column in COLUMNS.items()),
    ]
    sent = []
    for number, value in enumerate(VALUES.values()):
        image = {"id": number, **dict.fromkeys(COLUMNS), value.column: "@@"}
        block = POSTGRESQL.source(prefix, VALUES_TABLE, 10 * number + 1)
        payload = {"before": None, "after": image, "source": block, "op": "c", "ts_ms": 1}
        document = {"schema": envelope_schema(columns), "payload": payload}
        event = Event({"id": number}, document, value.raw)
        topic = POSTGRESQL.topic(prefix, VALUES_TABLE)
        sent.append(
            Message(topic, 0, number, 1_770_000_000_000, event.key_bytes, event.text.encode())
        )
    return sent
