"""The epoch of a message, and the text that puts positions of later epochs behind earlier ones.

In: the epochs of a source, a message's place, time and GTID. Out: Spark SQL. Position text begins
with its epoch from the second one on, so that comparing text compares (epoch, position).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from lakehouse.plan.epochs import GTID, Epoch, Gtids, Interval
from lakehouse.spark.sql import in_partition, literal

# Behind every digit, those of hexadecimal numbers too.
_MARK, _END = "~", "|"
_WIDTH = 6
_LENGTH = len(_MARK) + _WIDTH + len(_END)
_NONE = "CAST(NULL AS string)"


def log_of(epochs: Sequence[Epoch], gtid: str = _NONE, position: str = _NONE) -> str:
    """The text that puts what a message says behind all that older logs said.

    Args:
        epochs: Those of the source.
        gtid: Of the message; NULL for none.
        position: Of the message in its own log; NULL for none.
    """
    return _log(list(enumerate(epochs, 1)), gtid, position)


def confirmed_log(epochs: Sequence[Epoch]) -> str:
    """The same where only logs count that a person has confirmed."""
    found = [(n, e) for n, e in enumerate(epochs, 1) if e.confirmed_ms is not None]
    return _log(found, _NONE, _NONE)


def in_logs(envelopes: DataFrame, epochs: Sequence[Epoch]) -> DataFrame:
    """Envelopes that were parsed before all of the epochs were known, with each of them.

    Args:
        envelopes: In earlier epochs; those that a person has confirmed stay as they are.
        epochs: Those of the source.
    """
    confirmed = max((n for n, e in enumerate(epochs, 1) if e.confirmed_ms is not None), default=0)
    told = list(enumerate(epochs, 1))[confirmed:]
    bare = without_log("position")
    log = _log(told, "gtid", bare, "log" if confirmed else "''")
    placed = envelopes.withColumn("log", F.expr(log))
    return placed.withColumn("position", F.expr(f"concat(log, {bare})"))


def number_of_log(epochs: Sequence[Epoch], gtid: str) -> str:
    """The number of the newest log that a GTID may be of, whatever the offset; 0 is the first."""
    cases = [
        f"WHEN NOT {is_known(epoch.known, gtid)} THEN {number}"
        for number, epoch in reversed(list(enumerate(epochs, 1)))
    ]
    return f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"


def without_log(position: str) -> str:
    """A position in its own log."""
    return f"substring({position}, if(startswith({position}, {literal(_MARK)}), {_LENGTH + 1}, 1))"


def log_in(position: str) -> str:
    """The text of `log_of` that a position begins with."""
    return position[: position.index(_END) + 1] if position.startswith(_MARK) else ""


def epoch_of(position: str) -> str:
    """The number of the epoch that a position is in; 0 for the first one."""
    number = f"int(substring({position}, {len(_MARK) + 1}, {_WIDTH}))"
    return f"if(startswith({position}, {literal(_MARK)}), {number}, 0)"


def is_known(known: Gtids, gtid: str) -> str:
    """Whether a GTID is one of those; NULL is none."""
    if not known:
        return "false"
    servers = ", ".join(f"{literal(s)}, array({_structs(found)})" for s, found in known.items())
    mine = f"element_at(map({servers}), {server_of(gtid)})"
    return f"coalesce(exists({mine}, i -> {number_of(gtid)} BETWEEN i.low AND i.high), false)"


def server_of(gtid: str) -> str:
    """A GTID's server, in MariaDB its domain and server; empty where the text is no GTID."""
    return f"regexp_extract({gtid}, r{literal(GTID)}, 1)"


def number_of(gtid: str) -> str:
    """The number of the transaction; NULL where the text is no GTID."""
    return f"try_cast(regexp_extract({gtid}, r{literal(GTID)}, 2) AS bigint)"


HAS_GTID = f"{number_of('gtid')} IS NOT NULL"


def _log(
    epochs: Sequence[tuple[int, Epoch]], gtid: str, position: str, otherwise: str = "''"
) -> str:
    cases = [
        f"WHEN {_is_of(epoch, gtid, position)} THEN {literal(_prefix(number))}"
        for number, epoch in reversed(epochs)
    ]
    return f"CASE {' '.join(cases)} ELSE {otherwise} END" if cases else otherwise


def has_begun(starts: Mapping[tuple[str, int], int]) -> str:
    """Whether a message stands behind the first offset of a log."""
    cases = " ".join(
        f"WHEN {in_partition(place)} THEN {start}" for place, start in sorted(starts.items())
    )
    return f"offset >= CASE {cases} ELSE 0 END" if cases else "true"


def _is_of(epoch: Epoch, gtid: str, position: str) -> str:
    """Whether a message is of the log of an epoch, unless it is of a newer one."""
    if epoch.confirmed_ms is not None:
        return f"timestamp >= timestamp_millis({epoch.confirmed_ms})"
    is_old = is_known(epoch.known, gtid)
    if epoch.reads:
        reads = ", ".join(map(literal, epoch.reads))
        is_old += f" OR ({gtid} IS NULL AND coalesce({position} IN ({reads}), false))"
    return f"{has_begun(epoch.starts)} AND NOT ({is_old})"


def _prefix(number: int) -> str:
    return f"{_MARK}{number:0{_WIDTH}d}{_END}"


def _structs(intervals: Sequence[Interval]) -> str:
    return ", ".join(f"named_struct('low', {low}L, 'high', {high}L)" for low, high in intervals)
