"""What `lakehouse doctor` finds in databases."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakehouse.config import parse_source
from lakehouse.errors import ConfigError
from lakehouse.plan.doctor.binlog import BinlogFacts, has_cascade, judge_binlog
from lakehouse.plan.doctor.findings import Level
from lakehouse.plan.doctor.postgresql import (
    PostgresFacts,
    PostgresTable,
    Publication,
    Slot,
    judge_postgresql,
)
from lakehouse.plan.signals.captured import captures

ORDERS = PostgresTable("public", "orders", "d", has_key=True)
PUBLICATION = Publication("dbz", frozenset({"insert", "update", "delete", "truncate"}))
SLOT = Slot("s", active=True, status="reserved", behind=5)
POSTGRES = PostgresFacts("logical", "s", SLOT, "dbz", PUBLICATION, (ORDERS,))


def in_postgres(facts: PostgresFacts) -> list[tuple[str, str, Level]]:
    return [(f.subject, f.what, f.level) for f in judge_postgresql(facts)]


def test_nothing_is_found_in_a_postgresql_that_sends_every_change():
    assert in_postgres(POSTGRES) == []


@pytest.mark.parametrize(
    ("slot", "what", "level"),
    [
        (None, "the replication slot", Level.BREAKS),
        (replace(SLOT, status="lost"), "wal_status", Level.BREAKS),
        (replace(SLOT, status="unreserved"), "wal_status", Level.WARNING),
        (replace(SLOT, active=False), "active", Level.WARNING),
        (replace(SLOT, behind=2**31), "log that it keeps", Level.WARNING),
    ],
)
def test_a_slot_that_loses_or_keeps_log_is_found(slot, what, level):
    assert in_postgres(replace(POSTGRES, slot=slot)) == [("slot s", what, level)]


@pytest.mark.parametrize(
    ("identity", "has_key", "next_step"),
    [
        ("n", True, "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT"),
        ("i", True, "ALTER TABLE public.orders REPLICA IDENTITY DEFAULT"),
        ("d", False, "ALTER TABLE public.orders REPLICA IDENTITY FULL"),
    ],
)
def test_a_replica_identity_that_does_not_name_rows_is_found(identity, has_key, next_step):
    table = replace(ORDERS, identity=identity, has_key=has_key)
    [finding] = judge_postgresql(replace(POSTGRES, tables=(table,)))
    assert (finding.level, finding.what, finding.next_step) == (
        Level.BREAKS,
        "replica identity",
        next_step,
    )


@pytest.mark.parametrize("has_key", [True, False])
def test_a_full_replica_identity_is_always_enough(has_key):
    table = replace(ORDERS, identity="f", has_key=has_key)
    assert in_postgres(replace(POSTGRES, tables=(table,))) == []


def test_what_a_publication_leaves_out_is_found():
    no_truncate = replace(PUBLICATION, operations=PUBLICATION.operations - {"truncate"})
    assert in_postgres(replace(POSTGRES, publication=no_truncate)) == [
        ("publication dbz", "publish", Level.BREAKS)
    ]
    filtered = replace(PUBLICATION, filtered=("orders",))
    assert in_postgres(replace(POSTGRES, publication=filtered)) == [
        ("table orders", "row filter or column list", Level.WARNING)
    ]
    assert in_postgres(replace(POSTGRES, publication=None)) == [
        ("publication dbz", "the publication", Level.BREAKS)
    ]
    tables = (replace(ORDERS, published=False), replace(ORDERS, name="sessions", logged=False))
    assert in_postgres(replace(POSTGRES, tables=tables)) == [
        ("table public.orders", "the publication", Level.BREAKS),
        ("table public.sessions", "persistence", Level.BREAKS),
    ]


def test_a_log_without_row_changes_is_found():
    assert in_postgres(replace(POSTGRES, wal_level="replica")) == [
        ("database", "wal_level", Level.BREAKS)
    ]


MYSQL = parse_source('connector = "mysql"\ntopic_prefix = "shop"\n', "shop")
BINLOG = BinlogFacts(
    {
        "log_bin": "ON",
        "binlog_format": "ROW",
        "binlog_row_image": "FULL",
        "gtid_mode": "ON",
        "binlog_transaction_compression": "OFF",
        "binlog_expire_logs_seconds": "2592000",
    },
    ("binlog.000003", "binlog.000004"),
    "binlog.000003",
)


def in_binlog(facts: BinlogFacts, source=MYSQL) -> list[tuple[str, Level]]:
    return [(f.what, f.level) for f in judge_binlog(facts, source)]


def test_nothing_is_found_in_a_mysql_that_logs_every_row():
    assert in_binlog(BINLOG) == []
    assert in_binlog(replace(BINLOG, read_file="", files=())) == []


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("log_bin", "OFF", Level.BREAKS),
        ("binlog_format", "MIXED", Level.BREAKS),
        ("binlog_row_image", "MINIMAL", Level.BREAKS),
        ("binlog_row_value_options", "PARTIAL_JSON", Level.BREAKS),
        ("binlog_transaction_compression", "ON", Level.BREAKS),
        ("binlog_expire_logs_seconds", "3600", Level.WARNING),
    ],
)
def test_a_variable_that_breaks_a_promise_is_found(name, value, level):
    facts = replace(BINLOG, variables={**BINLOG.variables, name: value})
    assert in_binlog(facts) == [(name, level)]


def test_gtids_are_needed_where_epochs_are_told_by_them():
    facts = replace(BINLOG, variables={**BINLOG.variables, "gtid_mode": "OFF"})
    manual = 'connector = "mysql"\ntopic_prefix = "shop"\nepoch = "manual"\n'
    gtid = 'connector = "mysql"\ntopic_prefix = "shop"\nepoch = "gtid"\n'
    assert in_binlog(facts, parse_source(manual, "shop")) == []
    assert in_binlog(facts, parse_source(gtid, "shop")) == [("gtid_mode", Level.BREAKS)]


def test_a_binlog_file_that_is_purged_before_it_was_read_is_a_loss():
    facts = replace(BINLOG, read_file="binlog.000002")
    assert in_binlog(facts) == [("binlog file that the connector reads next", Level.BREAKS)]


def test_rows_that_the_binlog_lacks_or_cannot_name_are_found():
    facts = replace(BINLOG, cascades=("shop.lines",), keyless=("shop.visits",))
    assert in_binlog(facts) == [("foreign key", Level.BREAKS), ("primary key", Level.WARNING)]


@pytest.mark.parametrize(
    ("config", "captured"),
    [
        ({}, True),
        ({"table.include.list": "public.orders"}, True),
        ({"table.include.list": "public.order, public.ORD.*"}, True),
        ({"table.include.list": "orders"}, False),
        ({"schema.include.list": "other"}, False),
        ({"table.exclude.list": "public.o.*"}, False),
        ({"table.include.list": r"public.o{1\,2}rders"}, True),
    ],
)
def test_the_lists_of_a_connector_say_which_tables_it_captures(config, captured):
    assert captures(config, "public", "orders") is captured


def test_a_list_that_only_java_can_read_is_named():
    config = {"table.include.list": r"public\.orders,public\.\p{L}+"}
    with pytest.raises(ConfigError, match=r"table\.include\.list: .*cannot be read here"):
        captures(config, "public", "letters")


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("  CONSTRAINT `fk` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON DELETE CASCADE", True),
        ("  CONSTRAINT `a``b` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON UPDATE SET NULL", True),
        ("  CONSTRAINT `fk` FOREIGN KEY (`p`) REFERENCES `p` (`id`)", False),
        ("  CONSTRAINT `fk` FOREIGN KEY (`p`) REFERENCES `p` (`id`) ON DELETE NO ACTION", False),
        (
            "  `note` text DEFAULT NULL COMMENT 'CONSTRAINT `fk` FOREIGN KEY ON DELETE CASCADE'",
            False,
        ),
    ],
)
def test_a_cascade_is_read_from_the_statement_that_makes_the_table(line: str, *, is_one: bool):
    text = f"CREATE TABLE `c` (\n  `id` int(11) NOT NULL,\n{line}\n) ENGINE=InnoDB"
    assert has_cascade(text) is is_one
