"""What a person should know of a batch's tables, as sentences.

In: the plans of the batch, what was staged. Out: findings, which the run's report shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakehouse.plan.batches.tables import TablePlan
from lakehouse.spark.staging.stage import Staged

_UNRESOLVED = "{} rows have no value for {}: its unchanged value was never sent"
_HELD = (
    "{} keys are held: events in quarantine are newer than their rows; a newer full row heals a "
    "key, and `lakehouse replay` what can be applied by now"
)
_OUTDATED = (
    "{} events of {}[{}] stand behind newer ones of their rows and never came before: they count "
    "as old; if the source has a new log (restored, failed over), give the time from which on it "
    "is captured as new_logs in the TOML file, and read the tables again with an incremental "
    "snapshot"
)
_RECREATED = (
    "{} rows were created that were there: they had gone without an event, as when a table is "
    "dropped and created again; others that are gone may be here still, and `lakehouse reconcile` "
    "finds them"
)
_UNKNOWN = (
    "{} rows changed that had never come, as after a table got another name or was captured late: "
    "others may be missing until a snapshot reads the table (`lakehouse signal snapshot`)"
)
_FOREIGN = (
    "another program wrote to main behind snapshot {} of the newest cut, and the next cut has what "
    "it wrote: `lakehouse reconcile` compares it with the source"
)


def table_findings(
    plans: Sequence[TablePlan],
    staged: Mapping[str, Staged],
    held: Mapping[str, int],
    foreign: Mapping[str, int],
) -> tuple[str, ...]:
    """The findings, the ones about rows first.

    Args:
        plans: The batch's tables.
        staged: Silver table → what the batch did to it.
        held: Silver table → how many of its keys are held.
        foreign: Silver table → the published snapshot behind which another program wrote.
    """
    told = [
        *((name, text) for name, table in staged.items() for text in _of_rows(table)),
        *((name, _FOREIGN.format(snapshot)) for name, snapshot in foreign.items()),
        *((name, _HELD.format(count)) for name, count in held.items()),
        *((plan.silver, note) for plan in plans for note in plan.notes),
    ]
    stands = [f"{plan.silver} is held: {plan.hold}" for plan in plans if plan.hold]
    return (*(f"{name}: {text}" for name, text in told), *stands)


def _of_rows(table: Staged) -> list[str]:
    places = sorted(table.outdated.items())
    texts = [_OUTDATED.format(count, topic, number) for (topic, number), count in places]
    texts += [_UNRESOLVED.format(count, column) for column, count in table.unresolved.items()]
    texts += [table.swept] if table.swept else []
    texts += [_RECREATED.format(table.recreated)] if table.recreated else []
    return texts + ([_UNKNOWN.format(table.unknown)] if table.unknown else [])
