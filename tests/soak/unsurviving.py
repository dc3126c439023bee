"""The closed list of values that do not survive the wire, or silver, each seen with the stack.

Each entry says what its connector sends, under the settings of `infra.connector_settings`, when the
row is streamed and when an incremental snapshot reads it, and how the loss is reported. Facts of
`reference/stack.md` section 4 have its number; the others were seen on 2026-11-21 with PostgreSQL
17.11, MySQL 8.0.12, MariaDB 11.4.5 and the connectors 3.6.1.Final and (MariaDB) 3.5.0.Final.
Not here, since they stop the connector: dates such as '2024-02-31' (ALLOW_INVALID_DATES), `uuid`
and `inet6` of MariaDB, CREATE SEQUENCE in MariaDB.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from infra.sources import Engine

PG = (Engine.POSTGRESQL,)
BINLOG = (Engine.MYSQL, Engine.MARIADB)
SEEN = "seen with the stack"
# A column that is not in the message.
ABSENT = "absent"


class Reported(StrEnum):
    """How a person learns of it."""

    QUARANTINE = "bad_value"
    """The message is quarantined, its key held: nothing wrong is ever published."""
    FINDING = "finding"
    """Silver has NULL, and the run reports the column."""
    COLUMN = "column"
    """The message holds another value that looks right: `lakehouse tables` lists the column as
    lossy, with the reason (`lakehouse.plan.batches.losses`)."""
    ABSENT = "absent"
    """The column is in no message: only this list knows."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A value that does not arrive as it is.

    Attributes:
        sql_type: Of the column.
        value: SQL.
        streamed: What stands in the message of the INSERT.
        read: What stands in the read event of an incremental snapshot.
        reported: How the streamed one is reported, `COLUMN` also where it is right.
        setting: The connector's setting that it depends on; empty for none.
        source: Where the fact is from.
    """

    engines: tuple[Engine, ...]
    sql_type: str
    value: str
    streamed: object
    read: object
    reported: Reported
    setting: str = ""
    source: str = SEEN


def _bad(sql_type: str, value: str, streamed: object, read: object = None, **more: str) -> Loss:
    sent = streamed if read is None else read
    return Loss(PG, sql_type, value, streamed, sent, Reported.QUARANTINE, **more)


_ADAPTIVE = "time.precision.mode=adaptive"
_PRECISE = "decimal.handling.mode=precise"
_UNKNOWN = "include.unknown.datatypes=true"
_COLUMN = Reported.COLUMN
_F20, _F21, _F23 = "stack.md 4.20", "stack.md 4.21", "stack.md 4.23"
_F24, _F25 = "stack.md 4.24", "stack.md 4.25"
_EPOCH = "1970-01-01T00:00:00Z"

POSTGRESQL = (
    _bad("date", "'infinity'", -2147472692, -622191234, source=_F21),
    _bad("date", "'-infinity'", -2147472691, -625821272, source=_F21),
    _bad("date", "'0044-03-15 BC'", -735160, -703383, source=_F21),
    _bad("date", "'10000-01-01'", 2932897),
    Loss(PG, "date", "'1582-10-10'", -141432, -141422, _COLUMN, source=_F21),
    _bad("timestamp", "'infinity'", 9223372036825200000, setting=_ADAPTIVE, source=_F21),
    _bad("timestamp", "'-infinity'", -9223372036832400000, setting=_ADAPTIVE, source=_F21),
    _bad("timestamp", "'10000-01-01'", 253402300800000000, setting=_ADAPTIVE),
    _bad("timestamp", "'0001-01-01 BC'", -62167219200000000, setting=_ADAPTIVE),
    _bad(
        "timestamp",
        "'294276-12-31 23:59:59.999999'",
        -9223372036853775810,
        setting=_ADAPTIVE,
        source=_F21,
    ),
    _bad("timestamptz", "'infinity'", "infinity", source=_F21),
    _bad("timestamptz", "'-infinity'", "-infinity", source=_F21),
    _bad("timestamptz", "'10000-01-01'", "+10000-01-01T00:00:00.000000Z"),
    _bad("timestamptz", "'0044-03-15 BC'", "-0043-03-15T00:00:00.000000Z"),
    Loss(PG, "numeric", "'NaN'", None, None, _COLUMN, _PRECISE, _F20),
    Loss(PG, "numeric", "'Infinity'", None, None, _COLUMN, _PRECISE, _F20),
    Loss(PG, "numeric", "'-Infinity'", None, None, _COLUMN, _PRECISE, _F20),
    Loss(PG, "numeric(4,2)", "'NaN'", None, None, _COLUMN, _PRECISE, _F20),
    Loss(PG, "numeric[]", "'{1.5,NaN}'", None, None, _COLUMN, _PRECISE),
    _bad("date[]", "'{infinity}'", [-622191234]),
    Loss(PG, "timetz", "'12:00+02'", "10:00:00Z", "10:00:00Z", _COLUMN, source=_F24),
    Loss(PG, "timetz", "'24:00+00'", "00:00:00Z", "00:00:00Z", _COLUMN),
    Loss(PG, "varbit", "B'0001'", "AQ==", "AQ==", _COLUMN, source=_F24),
    Loss(PG, "varbit", "B''", "", "", _COLUMN, source=_F24),
    Loss(PG, "int[]", "'{{1,2},{3,4}}'", [None, None], [None, None], _COLUMN, source=_F24),
    Loss(
        PG,
        "text",
        "'__debezium_unavailable_value'",
        "__debezium_unavailable_value",
        "__debezium_unavailable_value",
        Reported.FINDING,
        "unavailable.value.placeholder",
        _F23,
    ),
    Loss(PG, "order_status[]", "'{new,NULL}'", None, None, _COLUMN),
    Loss(PG, "bit(3)[]", "'{101}'", None, None, _COLUMN, _UNKNOWN),
    Loss(PG, "xml[]", "'{<a/>}'", ABSENT, ABSENT, Reported.ABSENT, _UNKNOWN),
    Loss(PG, "interval[]", "'{1 day}'", ABSENT, ABSENT, Reported.ABSENT, _UNKNOWN),
    Loss(PG, "money[]", "'{1}'", ABSENT, ABSENT, Reported.ABSENT, _UNKNOWN),
    Loss(PG, "point[]", "'{\"(1,2)\"}'", ABSENT, ABSENT, Reported.ABSENT, _UNKNOWN),
)


def _both(sql_type: str, value: str, streamed: object, read: object, source: str = SEEN) -> Loss:
    return Loss(BINLOG, sql_type, value, streamed, read, _COLUMN, source=source)


MYSQL_FAMILY = (
    _both("date", "'0000-00-00'", None, None, _F25),
    _both("date NOT NULL", "'0000-00-00'", 0, 0, _F25),
    _both("date", "'2024-02-00'", None, None),
    _both("date", "'0000-01-01'", None, 10957),
    _both("datetime", "'0000-00-00'", None, None, _F25),
    _both("datetime NOT NULL", "'0000-00-00'", 0, 0, _F25),
    _both("datetime", "'1582-10-10'", -12219724800000, -12218860800000, _F21),
    Loss((Engine.MYSQL,), "timestamp NULL", "0", None, None, _COLUMN, source=_F25),
    Loss((Engine.MARIADB,), "timestamp NULL", "0", _EPOCH, None, _COLUMN),
    _both("timestamp NOT NULL", "0", _EPOCH, _EPOCH, _F25),
    _both("year", "0", 1900, 2000, _F25),
    _both("float", "1.2345678", 1.2345678, 1.23457),
    _both("float(7,2)", "12345.67", 12345.669921875, 12345.669921875, _F25),
    _both("enum('a','c,d')", "'c,d'", "c\\,d", "c,d", _F25),
    Loss(
        (Engine.MYSQL,),
        "json",
        "'1.2345678901234567e19'",
        "12345678901234567168",
        "1.2345678901234567e19",
        _COLUMN,
        source=_F25,
    ),
)
LOSSES = (*POSTGRESQL, *MYSQL_FAMILY)
