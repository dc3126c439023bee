"""Source blocks of six connectors, and what is wrong in those blocks alone."""

from __future__ import annotations

import json

from tests.support.bad_input import (
    GONE,
    Case,
    Dialect,
    change,
    optional,
    payload,
    schema,
    source,
    token,
)


def _common(connector: str, prefix: str, table: str, **more: object) -> dict[str, object]:
    block = {"version": "3.6.1.Final", "connector": connector, "name": prefix, "ts_ms": 1}
    return {**block, "snapshot": "false", "table": table, **more}


def _binlog(prefix: str, table: str, at: int) -> dict[str, object]:
    place = {"file": "binlog.000003", "pos": at, "row": 0, "server_id": 7, "gtid": None}
    return _common("mysql", prefix, table, db="shop", **place)


def _postgresql(prefix: str, table: str, at: int) -> dict[str, object]:
    place = {"sequence": json.dumps(["900", str(at)]), "lsn": at, "txId": at}
    return _common("postgresql", prefix, table, db="app", schema="public", **place)


def _oracle(prefix: str, table: str, at: int) -> dict[str, object]:
    place = {"scn": str(at), "commit_scn": str(at), "txId": "0a", "txSeq": 1}
    return _common("oracle", prefix, table, db="PDB1", schema="INV", **place)


def _db2(prefix: str, table: str, at: int) -> dict[str, object]:
    lsn = f"00000000:{at:08x}:{0:016x}"
    return _common("db2", prefix, table, db="D", schema="INV", commit_lsn=lsn, change_lsn=lsn)


def _sqlserver(prefix: str, table: str, at: int) -> dict[str, object]:
    lsn = f"00000027:{at:08x}:0001"
    place = {"commit_lsn": lsn, "change_lsn": lsn, "event_serial_no": 1}
    return _common("sqlserver", prefix, table, db="d", schema="dbo", **place)


def _ticdc(prefix: str, table: str, at: int) -> dict[str, object]:
    place = {"commit_ts": 450_000_000_000_000_000 + at, "cluster_id": prefix}
    return _common("TiCDC", prefix, table, db="test", **place)


POSTGRESQL = Dialect("postgresql", _postgresql, lambda prefix, table: f"{prefix}.public.{table}")
MYSQL = Dialect(
    "mysql",
    _binlog,
    lambda prefix, table: f"{prefix}.shop.{table}",
    '[tables."shop.unsigned_declared"]\ncolumns.v.type = "bigint unsigned"\n',
)
ORACLE = Dialect("oracle", _oracle, lambda prefix, table: f"{prefix}.INV.{table}")
DB2 = Dialect("db2", _db2, lambda prefix, table: f"{prefix}.INV.{table}")
SQLSERVER = Dialect("sqlserver", _sqlserver, lambda prefix, table: f"{prefix}.d.dbo.{table}")
TICDC = Dialect(
    "ticdc", _ticdc, lambda _, table: f"ticdc-{table}", '[kafka]\ntopics = ["ticdc-.*"]\n'
)

_LONG = optional("v", "int64")
_ALL = (1, 2, 3)
# A schema change event as TiCDC writes it, between the data.
_DDL = {
    "source": {"connector": "TiCDC", "name": "x", "commit_ts": 450_000_000_000_000_500},
    "ddl": "'; DROP TABLE users; --</script>",
    "tableChanges": ["not a change"],
    "op": GONE,
    "after": GONE,
    "before": GONE,
}

BY_CONNECTOR: dict[str, tuple[Dialect, dict[str, Case]]] = {
    "mysql": (
        MYSQL,
        {
            "file_without_number": Case(source(file="binlog"), "no_position"),
            "file_absent": Case(source(file=GONE), "no_position"),
            "pos_negative": Case(source(pos=-4), "no_position"),
            "file_line_break": Case(source(file="binlog.000003\n"), "no_position"),
            "pos_line_break": Case(source(pos="4\n"), "no_position"),
            "pos_text": Case(source(pos="four"), "no_position"),
            "pos_fraction": Case(source(pos=4.5), "no_position"),
            "row_too_large": Case(source(row=10**10), "no_position"),
            "snapshot_flag": Case(source(snapshot=False), rows=_ALL),
            "snapshot_flag_true": Case(change("r", None, {"id": 2, "v": None}), rows=_ALL),
            "unsigned_undeclared": Case(token("-1"), column=_LONG, rows=_ALL, stored=-1),
            "unsigned_declared": Case(token("-1"), column=_LONG, rows=_ALL, stored=2**64 - 1),
            "other_database": Case(source(db="elsewhere"), "wrong_topic"),
        },
    ),
    "oracle": (
        ORACLE,
        {
            "SCN_TEXT": Case(source(scn="latest"), "no_position"),
            "SCN_NULL": Case(source(scn=None, commit_scn=None), "no_position"),
            "SCN_39_DIGITS": Case(source(scn="9" * 39), "no_position"),
            "COMMIT_SCN_NULL": Case(source(commit_scn=None), rows=_ALL),
            "LCR_GARBAGE": Case(source(lcr_position="xyz"), "no_position"),
        },
    ),
    "db2": (
        DB2,
        {
            "LSN_SHORT": Case(source(commit_lsn="00000025:00000d98:00a2"), "no_position"),
            "LSN_NO_HEX": Case(source(change_lsn="gg"), "no_position"),
            "LSN_NULL": Case(source(commit_lsn=None), "no_position"),
            "NO_CHANGE_LSN": Case(source(change_lsn=None), rows=_ALL),
        },
    ),
    "sqlserver": (
        SQLSERVER,
        {
            "lsn_long": Case(source(commit_lsn="00000027:" * 5 + "00"), "no_position"),
            "lsn_line_break": Case(source(commit_lsn="00000027:00000001:001\n"), "no_position"),
            "lsn_null": Case(source(commit_lsn=None), "no_position"),
            "serial_text": Case(source(event_serial_no="one"), "no_position"),
        },
    ),
    "ticdc": (
        TICDC,
        {
            "commit_ts_float": Case(source(commit_ts=4.5e17), "no_position"),
            "commit_ts_absent": Case(source(commit_ts=GONE), "no_position"),
            "commit_ts_text": Case(source(commit_ts="450000000000099999"), rows=_ALL),
            "ddl_unreadable": Case(payload(**_DDL), "", rows=(1, 3)),
            "no_op": Case(payload(op=GONE), "no_operation"),
            "schema_absent": Case(schema(None), rows=_ALL),
        },
    ),
}
