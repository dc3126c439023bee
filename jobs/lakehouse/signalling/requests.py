"""A request, sent: the connector is asked what it takes, then one signal goes one way."""

from __future__ import annotations

from dataclasses import dataclass

from infra.sources import Engine
from lakehouse.config import Settings, SourceConfig, kafka_properties
from lakehouse.errors import ConfigError, SignalRefused
from lakehouse.failpoints import within
from lakehouse.inspection.addresses import DATABASE, SIGNALS, signals_of
from lakehouse.names import format_table
from lakehouse.plan.signals.connector import Channel, SignalFacts
from lakehouse.plan.signals.followed import Asked
from lakehouse.plan.signals.handover import Handover
from lakehouse.plan.signals.record import Signal, signal_of
from lakehouse.plan.signals.request import Request
from lakehouse.plan.signals.statement import insert_statement
from lakehouse.signalling.connector import find_connector
from lakehouse.signalling.sending import send_by_table, send_by_topic
from lakehouse.signalling.topics import end_offsets


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent.

    Attributes:
        told: A sentence about it, or the statement that a person has to run.
        handover: What following it needs.
    """

    told: str
    handover: Handover


def send(
    request: Request,
    source: SourceConfig,
    settings: Settings,
    wanted: Channel | None,
    name: str,
) -> Sent:
    """Send a signal.

    Args:
        request: What is asked for.
        source: The source.
        settings: Where the addresses are.
        wanted: The channel to take; None for the signal table if there is one.
        name: The signal's id.

    Raises:
        LakehouseError: It cannot be sent, or would not do what is asked for; nothing was sent.
    """
    facts = find_connector(source, settings)
    channel = facts.channel(wanted)
    signal = signal_of(request, source, facts, name)
    topic = facts.notification_topic or ""
    properties = kafka_properties(source, settings)
    starts = end_offsets(properties, topic) if topic else {}
    with within("signal"):
        is_new, told = _sent(channel, signal, facts, source, settings)
    handover = Handover(
        Asked(request.action, name, request.type, signal.collections),
        tuple(format_table(table, source.connector) for table in request.tables),
        topic,
        # The first try of this id may have been answered meanwhile.
        starts if is_new else dict.fromkeys(starts, 0),
    )
    return Sent("\n".join((told, *signal.warnings)), handover)


def _sent(
    channel: Channel,
    signal: Signal,
    facts: SignalFacts,
    source: SourceConfig,
    settings: Settings,
) -> tuple[bool, str]:
    """Whether it is new, and what to tell about it."""
    if channel is Channel.KAFKA and facts.signal_topic:
        place = f"topic {facts.signal_topic}"
        properties = kafka_properties(source, settings)
        is_new = send_by_topic(properties, facts.signal_topic, source, signal)
    else:
        table = _signal_table(signal, facts)
        place = f"table {'.'.join(table)}"
        if source.connector not in tuple(Engine):
            statement = insert_statement(table, source.connector, signal)
            return True, f"run this in the source's database:\n{statement};"
        database = signals_of(source, settings)
        if database is None:
            raise ConfigError(
                f"source {source.name!r}: no login of its database: expected it in {SIGNALS} or "
                f"{DATABASE}, or --channel kafka"
            )
        is_new = send_by_table(database, table, source, signal)
    done = "sent to" if is_new else "is already in"
    return is_new, f"signal {signal.id} ({signal.type}) {done} {place}: {signal.data}"


def _signal_table(signal: Signal, facts: SignalFacts) -> tuple[str, ...]:
    """The signal table of the tables' database, where there are several."""
    if not facts.tables:
        raise SignalRefused(f"connector {facts.name}: no signal table: expected one")
    database = signal.collections[0].partition(".")[0] if signal.collections else ""
    mine = [table for table in facts.tables if table[0] == database]
    return mine[0] if len(facts.tables) > 1 and mine else facts.tables[0]
