"""What a person asks → the signal record, for every connector and version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakehouse.config import SourceConfig
from lakehouse.connectors import CONNECTORS
from lakehouse.errors import SignalRefused
from lakehouse.names import TableIdentity
from lakehouse.plan.signals.checks import check, dotted, too_old
from lakehouse.plan.signals.conditions import filter_of, raw_filter
from lakehouse.plan.signals.connector import CONDITION_SINCE, CONDITIONS_SINCE, SignalFacts
from lakehouse.plan.signals.naming import CollectionName, collection_name
from lakehouse.plan.signals.request import Action, Request, SnapshotType
from lakehouse.plan.signals.sql import quoted_table

_Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Signal:
    """A signal record.

    Attributes:
        data: JSON text.
        collections: Identifiers of its tables, as notifications name them.
        warnings: What a person should know.
    """

    id: str
    type: str
    data: str
    collections: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """As the value of a message of the signal topic; `data` must be an object there."""
        return json.dumps({"id": self.id, "type": self.type, "data": json.loads(self.data)})


def signal_of(request: Request, source: SourceConfig, facts: SignalFacts, name: str) -> Signal:
    """Make the record.

    Args:
        request: What is asked for.
        source: The source.
        facts: What its connector takes.
        name: The signal's id.

    Raises:
        ConfigError: What is asked for does not fit together.
        SignalRefused: The connector would not do it, or not to these tables alone.
    """
    tables = tuple(dict.fromkeys(request.tables))
    check(request, source, facts, tables)
    names = {table: collection_name(facts.parts(table, source)) for table in tables}
    data: _Json = {}
    if request.action in (Action.SNAPSHOT, Action.STOP):
        data["type"] = request.type.value
        if names:
            data["data-collections"] = [_listed(each, request) for each in names.values()]
    if request.surrogate_key is not None:
        data["surrogate-key"] = request.surrogate_key
    data |= _conditions(request, source, facts, names)
    if request.person:
        # No connector reads this member; bronze keeps the signal, and with it who asked.
        data["requested-by"] = request.person
    found = tuple(each.identifier for each in names.values())
    warnings = tuple(_warnings(request, names.values()))
    return Signal(name, request.action.value, json.dumps(data), found, warnings)


def _warnings(request: Request, names: Iterable[CollectionName]) -> Iterator[str]:
    if request.action is Action.SNAPSHOT and request.type is SnapshotType.INCREMENTAL:
        for name in names:
            if not name.is_kept:
                yield (
                    f"table {name.identifier!r}: if the connector is restarted before it has read "
                    "it, it takes this name, with a dot or a quote, for another table's and ends "
                    "the snapshot; a blocking one has no such risk"
                )


def _listed(name: CollectionName, request: Request) -> str:
    if request.type is SnapshotType.BLOCKING:
        return name.blocking
    if name.incremental is None:
        raise SignalRefused(
            f"table {name.identifier!r}: expected a name without blanks, and without quotes or "
            "dots where a part of it begins or ends: the connector would not survive an "
            "incremental snapshot of it; take a blocking one"
        )
    return name.incremental


def _conditions(
    request: Request,
    source: SourceConfig,
    facts: SignalFacts,
    names: dict[TableIdentity, CollectionName],
) -> _Json:
    found = {
        table: text for table in names if (text := _filter(request, source, table)) is not None
    }
    if not found:
        return {}
    if facts.version >= CONDITIONS_SINCE:
        listed = [_condition(names[t], text, t, request, source) for t, text in found.items()]
        return {"additional-conditions": listed}
    if facts.version < CONDITION_SINCE:
        raise too_old(facts, "a condition", CONDITION_SINCE)
    if len(set(found.values())) > 1 or len(found) < len(names):
        raise SignalRefused(
            f"connector {facts.name}: {dotted(facts.version)} takes one condition for all tables "
            "of a signal: expected the same for each; send one signal for each table"
        )
    return {"additional-condition": next(iter(found.values()))}


def _filter(request: Request, source: SourceConfig, table: TableIdentity) -> str | None:
    if request.raw is not None:
        return raw_filter(request.raw)
    return filter_of(table, request.conditions, source.connector)


def _condition(
    name: CollectionName, text: str, table: TableIdentity, request: Request, source: SourceConfig
) -> _Json:
    if request.type is SnapshotType.INCREMENTAL:
        return {"data-collection": name.incremental_filter, "filter": text}
    if name.blocking_filter is None:
        raise SignalRefused(
            f"table {name.identifier!r}: expected a name without brackets and the like for a "
            "condition on a blocking snapshot; take an incremental one"
        )
    from_table = quoted_table(table.parts(source.connector), CONNECTORS[source.connector].sql)
    select = f"SELECT * FROM {from_table} WHERE {text}"
    return {"data-collection": name.blocking_filter, "filter": select}
