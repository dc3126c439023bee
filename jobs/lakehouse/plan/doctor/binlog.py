"""A MySQL or MariaDB server as its variables and schema describe it → findings.

https://dev.mysql.com/doc/refman/8.0/en/replication-options-binary-log.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.findings import Finding, Level, Promise

_DAY_S = 86_400
# Variable, what it must be, what happens otherwise.
_VARIABLES = (
    ("log_bin", "ON", "No change can be read."),
    ("binlog_format", "ROW", "Statements are logged in place of rows, and nothing is sent."),
    ("binlog_row_image", "FULL", "Row images lack columns, which are then taken for absent ones."),
)
# The same of variables that not every server has.
_OPTIONS = (
    (
        "binlog_row_value_options",
        "",
        "Changes inside JSON columns are logged as parts, not as values.",
    ),
    # Debezium gives what a Transaction_payload_event holds the place of that event
    # (BinlogStreamingChangeEventSource.handleTransactionPayload).
    (
        "binlog_transaction_compression",
        "OFF",
        "All changes of a transaction are told at one place of the log, none as the later one.",
    ),
)


# The server writes each constraint on a line of its own, and a line end in a comment as `\\n`.
_CASCADE = re.compile(
    r"^ +CONSTRAINT `(?:[^`]|``)+` FOREIGN KEY .* ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class BinlogFacts:
    """What a server says of its log and its tables.

    Attributes:
        variables: Of `SHOW VARIABLES`, lower-case names.
        files: The binlog files that are still there.
        read_file: The file that the connector reads next; empty where it is not known.
        keyless: Captured tables without a primary key.
        cascades: Captured tables whose rows a foreign key deletes or changes.
    """

    variables: Mapping[str, str]
    files: tuple[str, ...] = ()
    read_file: str = ""
    keyless: tuple[str, ...] = ()
    cascades: tuple[str, ...] = ()


def has_cascade(statement: str) -> bool:
    """Whether a foreign key deletes or changes rows, by what `SHOW CREATE TABLE` gives."""
    return _CASCADE.search(statement) is not None


def judge_binlog(facts: BinlogFacts, source: SourceConfig) -> tuple[Finding, ...]:
    """What in a MySQL or MariaDB server breaks a promise."""
    return (
        *_variables(facts),
        *_gtids(facts, source),
        *_files(facts),
        *_tables(facts),
    )


def _variables(facts: BinlogFacts) -> Iterator[Finding]:
    for name, wanted, why in _VARIABLES:
        value = facts.variables.get(name, "")
        if value.upper() not in (wanted, "1" if wanted == "ON" else wanted):
            yield Finding(
                Level.BREAKS,
                "server",
                name,
                repr(value),
                repr(wanted),
                Promise.EQUALS,
                why,
                f"set {name}={wanted} in the server's configuration and restart it; then take a "
                "snapshot",
            )
    for name, wanted, why in _OPTIONS:
        value = facts.variables.get(name, wanted)
        if value.upper() != wanted and value != "0":
            yield Finding(
                Level.BREAKS,
                "server",
                name,
                repr(value),
                repr(wanted),
                Promise.EQUALS,
                why,
                f"SET PERSIST {name} = {wanted or repr(wanted)}",
            )


def _gtids(facts: BinlogFacts, source: SourceConfig) -> Iterator[Finding]:
    mode = facts.variables.get("gtid_mode")
    if mode is not None and mode != "ON" and source.epoch == "gtid":
        yield Finding(
            Level.BREAKS,
            "server",
            "gtid_mode",
            repr(mode),
            "'ON'",
            Promise.NEVER_BACK,
            "After a change of server nothing tells a new log from an old one.",
            'set gtid_mode=ON, or epoch = "manual" in the TOML file',
        )


def _files(facts: BinlogFacts) -> Iterator[Finding]:
    if facts.read_file and facts.files and facts.read_file not in facts.files:
        yield Finding(
            Level.BREAKS,
            "server",
            "binlog file that the connector reads next",
            repr(facts.read_file),
            f"one of {facts.files[0]} to {facts.files[-1]}",
            Promise.NO_LOSS,
            "The server has purged log that the connector had not read.",
            "take a snapshot of every table (snapshot.mode=when_needed does so by itself)",
        )
    kept = facts.variables.get("binlog_expire_logs_seconds", "0")
    if 0 < float(kept) < _DAY_S:
        yield Finding(
            Level.WARNING,
            "server",
            "binlog_expire_logs_seconds",
            kept,
            "a day at least",
            Promise.NO_LOSS,
            "A connector that stands still for longer loses changes.",
            f"SET GLOBAL binlog_expire_logs_seconds = {7 * _DAY_S}, in the configuration too",
        )


def _tables(facts: BinlogFacts) -> Iterator[Finding]:
    for name in facts.cascades:
        yield Finding(
            Level.BREAKS,
            f"table {name}",
            "foreign key",
            "with CASCADE or SET NULL",
            "RESTRICT or NO ACTION",
            Promise.EQUALS,
            "Rows that the foreign key deletes or changes are not in the binlog: they stay.",
            "let the application delete them, or run `lakehouse reconcile`",
        )
    for name in facts.keyless:
        yield Finding(
            Level.WARNING,
            f"table {name}",
            "primary key",
            "none",
            "one",
            Promise.EQUALS,
            "Its rows are told apart by all their columns: equal rows are counted, not named.",
            f"ALTER TABLE {name} ADD PRIMARY KEY …, or name a unique key in the TOML file",
        )
