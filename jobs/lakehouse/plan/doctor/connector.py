"""A connector's configuration, as Kafka Connect has it → findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from lakehouse.config import SourceConfig
from lakehouse.plan.doctor.findings import Finding, Level, Promise
from lakehouse.plan.doctor.settings import RULES, SNAPSHOT_MODES, WITH_TRUNCATE, Rule
from lakehouse.plan.doctor.signal_tables import judge_signal_tables

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
_FLATTENING = ("ExtractNewRecordState", "ExtractField", "Flatten", "EventRouter", "ExtractChanged")
_ROUTING = ("ByLogicalTableRouter", "RegexRouter", "TimestampRouter", "SchemaNameRouter")


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
        _transforms,
        _filters,
        _transactions,
        judge_signal_tables,
    )
    found = [finding for finding in rules if finding is not None]
    for judgement in judgements:
        found += judgement(subject, config, source)
    return tuple(found)


def judge_running(connectors: Mapping[str, str], source: SourceConfig) -> tuple[Finding, ...]:
    """Whether one connector writes the source's topics, and runs.

    Args:
        connectors: Name of each connector with the source's prefix → why it does not run, or "".
        source: The source.
    """
    found = [
        Finding(
            Level.WARNING,
            f"connector {name}",
            "state",
            repr(why.partition("\n")[0]),
            "'RUNNING'",
            Promise.NO_LOSS,
            "Nothing arrives, and the source's log goes on without it.",
            f"mend the cause, then POST /connectors/{name}/restart?includeTasks=true",
        )
        for name, why in connectors.items()
        if why
    ]
    if len(connectors) == 1:
        return tuple(found)
    several = len(connectors) > 1
    number = Finding(
        Level.BREAKS if several else Level.WARNING,
        f"topic prefix {source.topic_prefix}",
        "connectors that write it",
        ", ".join(sorted(connectors)) or "none",
        "one",
        Promise.NEVER_BACK if several else Promise.NO_LOSS,
        "Two connectors mix two orders into the same topics."
        if several
        else "Nothing arrives; or it is registered with another Kafka Connect.",
        "remove all but one, or give each its own topic.prefix"
        if several
        else f"register a connector with topic.prefix={source.topic_prefix}",
    )
    return (*found, number)


def is_of_source(config: Config, source: SourceConfig) -> bool:
    """Whether a connector writes the source's topics (before 2.0: `database.server.name`)."""
    prefix = config.get("topic.prefix", config.get("database.server.name"))
    return prefix == source.topic_prefix


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


def _transforms(subject: str, config: Config, source: SourceConfig) -> Iterator[Finding]:
    for name in filter(None, (part.strip() for part in config.get("transforms", "").split(","))):
        kind = config.get(f"transforms.{name}.type", "unknown")
        short = kind.rpartition(".")[2].partition("$")[0]
        level, why, after = _effect(short, source)
        if level is None:
            continue
        yield Finding(
            level,
            subject,
            f"transforms.{name}.type",
            repr(kind),
            "no such transformation",
            Promise.EQUALS,
            why,
            after,
        )


def _effect(kind: str, source: SourceConfig) -> tuple[Level | None, str, str]:
    if kind.startswith(_FLATTENING):
        return (
            Level.BREAKS,
            "It takes the envelope away: positions, deletes and keys cannot be told any more.",
            "remove it: the pipeline reads whole envelopes",
        )
    if kind in _ROUTING:
        if source.kafka.topic_tables:
            return None, "", ""
        return (
            Level.WARNING,
            "Topics have other names than their tables: unmapped ones are quarantined.",
            'map them in the TOML file: [kafka] topic_tables."<topic>" = ["<schema>.<table>"]',
        )
    if kind == "Filter":
        return (
            Level.BREAKS,
            "Events are left out, and with them rows and the counts of transactions.",
            "remove it, or leave out whole tables with table.exclude.list",
        )
    return (
        Level.WARNING,
        "It may change keys, values or topics in a way that nothing here knows.",
        "remove it, or make sure that envelopes, keys and topics stay as Debezium writes them",
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
