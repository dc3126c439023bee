"""Whether what a person asks can be asked of this connector, about these tables."""

from __future__ import annotations

from collections.abc import Iterator

from lakehouse.config import SourceConfig
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.names import TableIdentity, format_table
from lakehouse.plan.signals.captured import captures
from lakehouse.plan.signals.connector import BLOCKING_SINCE, SURROGATE_KEY_SINCE, SignalFacts
from lakehouse.plan.signals.request import Action, Request, SnapshotType


def check(
    request: Request, source: SourceConfig, facts: SignalFacts, tables: tuple[TableIdentity, ...]
) -> None:
    """Refuse what the connector would not do, or not to these tables alone.

    Raises:
        ConfigError: What is asked for does not fit together.
        SignalRefused: The connector, or the TOML file, does not allow it.
    """
    for refusal in (_misfits(request, tables), _limits(request, source, facts)):
        for error in refusal:
            raise error
    for table in tables:
        _check_table(table, source, facts)
    for condition in request.conditions:
        known = {table.parts(source.connector) for table in tables}
        if condition.table and condition.table not in known:
            raise ConfigError(
                f"condition on {condition.column!r} of {'.'.join(condition.table)}: expected one "
                f"of the tables that are asked for: {', '.join(t.full_name for t in tables)}"
            )


def _misfits(request: Request, tables: tuple[TableIdentity, ...]) -> Iterator[ConfigError]:
    is_snapshot = request.action is Action.SNAPSHOT
    is_blocking = request.type is SnapshotType.BLOCKING
    if is_snapshot and not tables:
        yield ConfigError("table: none: expected at least one for a snapshot")
    if tables and request.action in (Action.PAUSE, Action.RESUME):
        yield ConfigError(f"table: {request.action} is for the whole snapshot: expected none")
    if not is_snapshot and (request.conditions or request.raw is not None or is_blocking):
        yield ConfigError(f"{request.action}: expected neither a condition nor a type")
    if request.conditions and request.raw is not None:
        yield ConfigError("condition: expected structured ones or a raw one, not both")
    if request.surrogate_key is not None and (not is_snapshot or is_blocking):
        yield ConfigError("surrogate key: expected it with an incremental snapshot only")
    if request.surrogate_key == "":
        yield ConfigError("surrogate key: expected the name of a column")


def _limits(request: Request, source: SourceConfig, facts: SignalFacts) -> Iterator[SignalRefused]:
    is_blocking = request.type is SnapshotType.BLOCKING
    if request.raw is not None and not source.snapshot.raw_conditions:
        yield SignalRefused(
            "raw condition: it runs in the source's database with the connector's rights: expected "
            f"snapshot.raw_conditions = true in {source.name}.toml, or structured conditions"
        )
    if is_blocking and facts.version < BLOCKING_SINCE:
        yield too_old(facts, "a blocking snapshot", BLOCKING_SINCE)
    if request.surrogate_key is not None and facts.version < SURROGATE_KEY_SINCE:
        yield too_old(facts, "a surrogate key", SURROGATE_KEY_SINCE)
    if is_blocking and (request.conditions or request.raw) and source.snapshot.complete:
        yield SignalRefused(
            f"condition on a blocking snapshot: {source.name}.toml says snapshot.complete = true, "
            "so rows that it does not read would be removed from silver: expected an incremental "
            "snapshot, or no such line"
        )
    if not is_blocking and not facts.tables and not facts.reads_without_marks:
        yield SignalRefused(
            f"connector {facts.name}: no signal table, in which incremental snapshots mark what "
            "they read: expected signal.data.collection, and 'source' in signal.enabled.channels"
        )


def _check_table(table: TableIdentity, source: SourceConfig, facts: SignalFacts) -> None:
    parts = table.parts(source.connector)
    name = format_table(table, source.connector)
    if source.is_control_table(table) or facts.parts(table, source) in facts.tables:
        raise SignalRefused(f"table {name}: expected one with rows, it is a control table")
    if not captures(facts.config, parts[-2], parts[-1]):
        raise SignalRefused(
            f"table {name}: expected one that connector {facts.name} captures; its lists "
            "(table.include.list and the like) leave it out"
        )


def too_old(facts: SignalFacts, what: str, since: tuple[int, int]) -> SignalRefused:
    """The error about a connector that cannot do something yet."""
    return SignalRefused(
        f"connector {facts.name}: version {dotted(facts.version)}: expected {dotted(since)} or "
        f"later for {what}"
    )


def dotted(version: tuple[int, int]) -> str:
    """A version for a person."""
    return f"{version[0]}.{version[1]}"
