"""Every wrong TOML file is refused with file, key, value and what was expected."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.errors import ConfigError

FILE = "sources/inventory.toml"
HEAD = 'connector = "postgresql"\ntopic_prefix = "inventory"\n'
KEYS = (
    "alerts, connector, control_tables, cuts, epoch, kafka, new_logs, rebuild, reconcile, "
    "schedule, schema_changes, snapshot, tables, topic_prefix, transactions"
)
TABLE_KEYS = (
    "columns, contract, delete, drop_column, expectations, history, key, rules, schema_changes, "
    "table"
)

# What follows the first two lines of the file, and the line that the error has for it.
WRONG_VALUES = {
    "unknown section": (
        "[kafak]",
        f"kafak: unknown key 'kafak'; did you mean 'kafka'? expected one of {KEYS}",
    ),
    "unknown key": (
        '[schedule]\nintervall = "@daily"',
        (
            "schedule.intervall: unknown key 'intervall'; did you mean 'interval'? "
            "expected one of interval, isolation, start, timeout"
        ),
    ),
    "unknown key, nothing near": (
        "[snapshot]\nxyz = 1",
        "snapshot.xyz: unknown key 'xyz': expected one of complete, max_sweep, raw_conditions",
    ),
    "table whose name is not quoted": (
        "[tables.hr.staff]\nhistory = true",
        (
            "tables.hr.staff: unknown key 'staff'; a table is written as [tables.\"hr.staff\"]: "
            f"expected one of {TABLE_KEYS}"
        ),
    ),
    "unknown key of a table, nothing near": (
        '[tables."public.orders"]\nxyz = 1',
        f"tables.\"public.orders\".xyz: unknown key 'xyz': expected one of {TABLE_KEYS}",
    ),
    "unknown type of a column": (
        '[tables."public.orders"]\ncolumns.price = { type = "numbr(9,2)" }',
        (
            "tables.\"public.orders\".columns.price.type: 'numbr(9,2)': expected a type of the "
            'source such as "bigint unsigned", "decimal(12,4)" or "datetime(6)" '
            "(did you mean 'number'?)"
        ),
    ),
    "key of no column": (
        '[tables."public.orders"]\nkey = []',
        (
            'tables."public.orders".key: []: expected a list of columns such as ["id"]; '
            "no such line where the events have it"
        ),
    ),
    "decimal without digits": (
        '[tables."public.orders"]\ncolumns.price = { type = "decimal" }',
        (
            "tables.\"public.orders\".columns.price.type: 'decimal': expected a type of the "
            'source such as "bigint unsigned", "decimal(12,4)" or "datetime(6)" '
            "(a decimal needs its digits)"
        ),
    ),
    "size that is no number": (
        '[tables."public.orders"]\ncolumns.name = { type = "varchar(long)" }',
        (
            "tables.\"public.orders\".columns.name.type: 'varchar(long)': expected a type of the "
            'source such as "bigint unsigned", "decimal(12,4)" or "datetime(6)" '
            "(its size is no number)"
        ),
    ),
    "unknown key of a column": (
        '[tables."public.orders"]\ncolumns.card = { msk = "drop" }',
        (
            "tables.\"public.orders\".columns.card.msk: unknown key 'msk'; did you mean 'mask'? "
            "expected one of mask, type"
        ),
    ),
    "key of the loader": (
        'name = "other"',
        f"name: unknown key 'name': expected one of {KEYS}",
    ),
    "not a section": (
        "transactions = true",
        "transactions: True: expected a table of keys: consistent, strict, timeout",
    ),
    "duration": (
        '[transactions]\ntimeout = "1 hour"',
        'transactions.timeout: \'1 hour\': expected a duration such as "30s", "2m", "1h" or "7d"',
    ),
    "deadline without notifier": (
        '[alerts]\nfreshness = "1h"',
        "alerts.notifier: missing: expected the class of a notifier beside the rest",
    ),
    "notifier that is no class": (
        '[alerts]\nnotifier = "slack"',
        (
            "alerts.notifier: 'slack': expected the class of a notifier such as "
            "airflow.providers.smtp.notifications.smtp.SmtpNotifier"
        ),
    ),
    "secret in a TOML file": (
        '[alerts]\nnotifier = "a.B"\narguments = { api_token = "x" }',
        (
            "alerts.arguments.api_token: expected no secret in a TOML file: name an Airflow "
            "connection instead"
        ),
    ),
    "duration as a number": (
        "[rebuild]\nundo = 7",
        'rebuild.undo: 7: expected a duration such as "30s", "2m", "1h" or "7d"',
    ),
    "marker": (
        '[reconcile]\nmarker = "public.orders"',
        "reconcile.marker: 'public.orders': expected one of control_tables",
    ),
    "time without zone": (
        "[schedule]\nstart = 2026-01-01T00:00:00",
        (
            "schedule.start: '2026-01-01T00:00:00': expected a time with its zone such as "
            "2026-01-01T00:00:00Z"
        ),
    ),
    "cron": (
        '[schedule]\ninterval = "every hour"',
        (
            "schedule.interval: 'every hour': expected a cron expression of five fields such as "
            '"*/5 * * * *", or @hourly'
        ),
    ),
    "choice": (
        '[schema_changes]\nmode = "evolv"',
        "schema_changes.mode: 'evolv': expected one of evolve, try_evolve, lenient, ignore, fail",
    ),
    "change kind": (
        '[schema_changes]\nrequire_approval = ["primary_key", "pk"]',
        (
            "schema_changes.require_approval[1]: 'pk': expected one of create_table, drop_table, "
            "rename_table, swap_table, add_column, drop_column, rename_column, reorder_columns, "
            "widen_type, narrow_type, change_type, nullability, default, primary_key, "
            "character_set, enum_values, comment, constraint"
        ),
    ),
    "text for a flag": (
        '[snapshot]\ncomplete = "true"',
        "snapshot.complete: 'true': expected true or false",
    ),
    "share": (
        "[snapshot]\nmax_sweep = 10",
        "snapshot.max_sweep: 10: expected a number from 0 to 1",
    ),
    "share that is no number": (
        "[snapshot]\nmax_sweep = nan",
        "snapshot.max_sweep: nan: expected a number from 0 to 1",
    ),
    "no cut kept": (
        "[cuts.keep]\nlast = 0",
        "cuts.keep.last: 0: expected a whole number from 1 on",
    ),
    "text for a list": (
        '[kafka]\ntopics = "inventory.orders"',
        (
            "kafka.topics: 'inventory.orders': expected a list of regular expressions (ticdc has "
            "no default for its topics)"
        ),
    ),
    "regular expression": (
        '[kafka]\ntopics = ["inventory\\\\..*", "(a"]',
        (
            "kafka.topics[1]: '(a': expected a regular expression over the whole name "
            '("shop\\\\..*") (missing ), unterminated subpattern at position 0)'
        ),
    ),
    "slow expression": (
        '[kafka]\ntopic_tables.all = ["(a+)+"]',
        (
            "kafka.topic_tables.all[0]: '(a+)+': expected a regular expression over the whole name "
            "(\"shop\\\\..*\") ('(a+)+' repeats what repeats by itself, which may take for ever: "
            "repeat one of both, as 'a+' or '[a-z.]*')"
        ),
    ),
    "topic name": (
        '[kafka]\nsignals = "my signals"',
        "kafka.signals: 'my signals': expected a topic name of letters, digits, '.', '_' and '-'",
    ),
    "routed topic name": (
        '[kafka]\ntopic_tables."all orders" = ["public.orders_.*"]',
        "kafka.topic_tables.\"all orders\": 'all orders': expected a key that is a topic name",
    ),
    "epoch": (
        'epoch = "gtid"',
        "epoch: 'gtid': expected 'manual' for postgresql, which sends no GTIDs",
    ),
    "new logs in no order": (
        "new_logs = [2026-03-01T00:00:00Z, 2026-02-01T00:00:00Z]",
        (
            "new_logs: 2026-03-01T00:00:00+00:00, 2026-02-01T00:00:00+00:00: expected each later "
            "than the one before"
        ),
    ),
    "table with too few parts": (
        "[tables.orders]",
        (
            "tables.\"orders\": 'orders': expected <schema>.<table> for postgresql, a part that "
            'holds a dot in double quotes ("a.b".c)'
        ),
    ),
    "table twice": (
        "[tables.'public.orders']\n[tables.'\"public\".orders']",
        (
            "tables.'\"public\".orders': '\"public\".orders': expected each table once, as "
            "'public.orders'"
        ),
    ),
    "control table": (
        'control_tables = ["public.signal", "signal"]',
        (
            "control_tables[1]: 'signal': expected <schema>.<table> for postgresql, a part that "
            'holds a dot in double quotes ("a.b".c)'
        ),
    ),
    "silver name": (
        '[tables."public.orders"]\ntable = "Orders"',
        (
            "tables.\"public.orders\".table: 'Orders': expected a table name of lower-case "
            "letters, digits and '_' that does not end in __state, __history or __retired_<n>"
        ),
    ),
    "reserved silver name": (
        '[tables."public.orders"]\ntable = "orders__retired_2"',
        (
            "tables.\"public.orders\".table: 'orders__retired_2': expected a name that does not "
            "end in __state, __history or __retired_<n>, which the pipeline's own tables have"
        ),
    ),
    "silver name twice": (
        '[tables."public.a"]\ntable = "a"\n[tables."public.b"]\ntable = "a"',
        "tables.\"public.b\".table: 'a': expected another name, it is that of 'public.a'",
    ),
    "mask": (
        '[tables."public.orders"]\ncolumns.card = { mask = "hide" }',
        "tables.\"public.orders\".columns.card.mask: 'hide': expected one of drop, hash, redact",
    ),
    "mask of a key": (
        '[tables."public.orders"]\nkey = ["id"]\ncolumns.id = { mask = "drop" }',
        (
            "tables.\"public.orders\".columns.id.mask: 'drop': expected 'hash', because 'id' is "
            "part of the key and rows are found by it"
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG_VALUES)
def test_a_wrong_value_is_named_with_its_key_and_what_was_expected(case):
    rest, expected = WRONG_VALUES[case]
    with pytest.raises(ConfigError) as raised:
        parse_source(HEAD + rest, "inventory", origin=FILE)
    assert str(raised.value) == f"{FILE}: {expected}"


WRONG_FILES = {
    "syntax": ("a b", "expected valid TOML: Expected '=' after a key in a key/value pair"),
    "empty": (
        "",
        (
            "connector: missing: expected one of db2, mariadb, mysql, oracle, postgresql, "
            "sqlserver, ticdc"
        ),
    ),
    "connector": (
        'connector = "postgres"\ntopic_prefix = "p"',
        (
            "connector: 'postgres': expected one of db2, mariadb, mysql, oracle, postgresql, "
            "sqlserver, ticdc"
        ),
    ),
    "prefix": (
        'connector = "oracle"\ntopic_prefix = "a b"',
        (
            "topic_prefix: 'a b': expected the connector's topic.prefix: letters, digits, '.', '_' "
            "and '-'"
        ),
    ),
    "ticdc without topics": (
        'connector = "ticdc"\ntopic_prefix = "default"',
        (
            "kafka.topics: missing: expected a list of regular expressions (ticdc has no default "
            "for its topics)"
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG_FILES)
def test_a_wrong_file_is_named(case):
    text, expected = WRONG_FILES[case]
    with pytest.raises(ConfigError) as raised:
        parse_source(text, "inventory", origin=FILE)
    assert str(raised.value).startswith(f"{FILE}: {expected}")


def test_every_mistake_of_a_file_is_told_at_once():
    text = HEAD + '[kafka]\ntopisc = []\n[snapshot]\nmax_sweep = 2\n[schedule]\nisolation = "x"'
    with pytest.raises(ConfigError) as raised:
        parse_source(text, "inventory", origin=FILE)
    keys = [line.split(": ")[1] for line in str(raised.value).splitlines()]
    assert sorted(keys) == ["kafka.topisc", "schedule.isolation", "snapshot.max_sweep"]


def test_a_file_name_that_cannot_name_a_source_is_refused():
    with pytest.raises(ConfigError, match="file name 'My-Shop': expected a name of lower-case"):
        parse_source(HEAD, "My-Shop", origin=FILE)
