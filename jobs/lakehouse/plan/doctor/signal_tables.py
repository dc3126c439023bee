"""The signal tables that a connector names → those that would become silver like data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakehouse.config import SourceConfig
from lakehouse.names import parse_table
from lakehouse.plan.doctor.findings import Finding, Level, Promise
from lakehouse.plan.signals.connector import signal_tables

_SETTING = "signal.data.collection"


def judge_signal_tables(
    subject: str, config: Mapping[str, str], source: SourceConfig
) -> Iterator[Finding]:
    """Each one that the TOML file does not call a control table."""
    known = [parse_table(text, source.connector) for text in source.control_tables]
    named = [table.parts(source.connector) for table in known]
    for parts in signal_tables(config):
        # Some connectors name the database too.
        if any(parts[-len(table) :] == table for table in named):
            continue
        yield Finding(
            Level.WARNING,
            subject,
            _SETTING,
            repr(".".join(parts)),
            "one of control_tables in the TOML file",
            Promise.EQUALS,
            "Its rows are the connector's own notes, and become a silver table.",
            f'add "{".".join(parts)}" to control_tables, as the file names its tables',
        )
