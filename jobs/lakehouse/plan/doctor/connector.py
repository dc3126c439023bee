"""A connector's configuration, as Kafka Connect has it → findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.findings import Finding, Level, Promise
from lakehouse.plan.doctor.settings import RULES, SNAPSHOT_MODES, WITH_TRUNCATE, Rule
from lakehouse.plan.doctor.signal_tables import judge_signal_tables
from lakehouse.plan.doctor.transforms import judge_transforms

Config = Mapping[str, str]
_JSON = "org.apache.kafka.connect.json.JsonConverter"
# Settings that keep columns or rows out of the topics, or change them.
_FILTERS = (
    "column.exclude.list",
    "column.include.list",
    "column.mask.with.",
    "column.mask.hash.",
    "column.truncate.to.",
    "message.key.columns",
)


def judge_connector(name: str, config: Config, source: SourceConfig) -> tuple[Finding, ...]:
    """What in a connector's configuration breaks a promise.

    Args:
        name: The connector's name in Kafka Connect.
        config: Its configuration; what is not there has Debezium's default.
        source: The source whose topics it writes.
    """
    subject = f"connector {name}"
    rules = (_judge(rule, subject, config) for rule in RULES if _applies(rule, source))
    judgements: tuple[Callable[[str, Config, SourceConfig], Iterator[Finding]], ...] = (
        _converters,
        _skipped_operations,
        _snapshots,
        judge_transforms,
        _filters,
        _transactions,
        judge_signal_tables,
    )
    found = [finding for finding in rules if finding is not None]
    for judgement in judgements:
        found += judgement(subject, config, source)
    return tuple(found)


def _applies(rule: Rule, source: SourceConfig) -> bool:
    return not rule.connectors or source.connector in rule.connectors


def _judge(rule: Rule, subject: str, config: Config) -> Finding | None:
    given = config.get(rule.setting)
    if (rule.default if given is None else given) in rule.good:
        return None
    wanted = rule.wanted or rule.good[0]
    return Finding(
        rule.level,
        subject,
        rule.setting,
        _shown(config, rule.setting, rule.default),
        " or ".join(map(repr, rule.good)),
        rule.promise,
        rule.why,
        f"set {rule.setting}={wanted} in the connector's configuration and restart it; take a "
        "snapshot of the tables that were affected",
    )


def _shown(config: Config, setting: str, default: str) -> str:
    return repr(config[setting]) if setting in config else f"not set (default {default!r})"


def _converters(subject: str, config: Config, _: SourceConfig) -> Iterator[Finding]:
    for setting in ("key.converter", "value.converter"):
        given = config.get(setting)
        if given == _JSON:
            continue
        yield Finding(
            Level.WARNING if given is None else Level.BREAKS,
            subject,
            setting,
            repr(given) if given else "not set (the worker's)",
            repr(_JSON),
            Promise.ONE_TABLE,
            "Only JSON is read: every other format is quarantined.",
            f"set {setting}={_JSON} in the connector's configuration",
        )


def _skipped_operations(subject: str, config: Config, source: SourceConfig) -> Iterator[Finding]:
    skipped = {part.strip() for part in config.get("skipped.operations", "t").split(",")}
    skipped -= {"none", "", *(() if source.connector in WITH_TRUNCATE else ("t",))}
    if skipped:
        yield Finding(
            Level.BREAKS,
            subject,
            "skipped.operations",
            _shown(config, "skipped.operations", "t"),
            "'none'",
            Promise.EQUALS,
            "Truncates are not sent, and their rows stay in silver."
            if skipped == {"t"}
            else "Changes of rows are not sent.",
            "set skipped.operations=none in the connector's configuration",
        )


def _snapshots(subject: str, config: Config, source: SourceConfig) -> Iterator[Finding]:
    mode = config.get("snapshot.mode", "initial")
    if mode not in SNAPSHOT_MODES:
        yield Finding(
            Level.BREAKS,
            subject,
            "snapshot.mode",
            repr(mode),
            "'initial'",
            Promise.EQUALS,
            "Rows that are older than the log never arrive, or the connector stops behind them.",
            "set snapshot.mode=initial for a new connector; for a running one send a snapshot "
            "signal for its tables",
        )
    overrides = config.get("snapshot.select.statement.overrides", "")
    if overrides:
        yield Finding(
            Level.BREAKS if source.snapshot.complete else Level.WARNING,
            subject,
            "snapshot.select.statement.overrides",
            repr(overrides),
            "not set",
            Promise.EQUALS,
            "A filtered snapshot looks like a whole one; with snapshot.complete = true the rows "
            "that it leaves out would be swept.",
            "keep snapshot.complete = false in the TOML file, or remove the override",
        )


def _filters(subject: str, config: Config, _: SourceConfig) -> Iterator[Finding]:
    for setting in sorted(name for name in config if name.startswith(_FILTERS)):
        yield Finding(
            Level.WARNING,
            subject,
            setting,
            repr(config[setting]),
            "not set",
            Promise.EQUALS,
            "Silver can only have what is sent: these columns are absent, changed, or the key.",
            "mask columns in the TOML file instead (columns.<name>.mask), name a key that is "
            "unique, or keep it on purpose",
        )


def _transactions(subject: str, config: Config, source: SourceConfig) -> Iterator[Finding]:
    if source.transactions.consistent and config.get("provide.transaction.metadata") != "true":
        yield Finding(
            Level.WARNING,
            subject,
            "provide.transaction.metadata",
            _shown(config, "provide.transaction.metadata", "false"),
            "'true'",
            Promise.EQUALS,
            "Without it a cut may hold half a transaction.",
            "set provide.transaction.metadata=true, or transactions.consistent = false in the "
            "TOML file",
        )
    if config.get("heartbeat.interval.ms", "0") == "0":
        yield Finding(
            Level.WARNING,
            subject,
            "heartbeat.interval.ms",
            _shown(config, "heartbeat.interval.ms", "0"),
            "more than 0, such as '5000'",
            Promise.NO_LOSS,
            "While the captured tables are quiet the log position stands still: the log grows, "
            "or is gone at the next restart.",
            "set heartbeat.interval.ms=5000",
        )
