"""What a step did, in figures, as Airflow metrics (StatsD or OpenTelemetry, whatever is set up).

`lakehouse.<source>.<step>.<figure>` is a gauge of the newest run: `seconds`, the step's own counts,
those of the law of conservation, over all topic partitions, and how many messages it landed or
applied `per_second`. Tags say source and step again.

`lakehouse.<source>.lag.messages` and `.seconds` tell what waits in Kafka, and how long already:
what landing finds, and less once it is published. `.lag.<silver table>.messages` is of one table.
"""

from __future__ import annotations

import json
from collections import Counter

from airflow.sdk.observability import stats

from lakehouse.plan.cuts.lag import SourceLag, seconds_behind
from lakehouse_dags.recorded import Recorded

# What a step's throughput is counted in.
_HANDLED = {"land": "messages", "apply": "applied"}


def figures(row: Recorded) -> dict[str, float]:
    """A step's figures by name; those of topic partitions are added up."""
    counts = json.loads(row.counts)
    law: Counter[str] = Counter()
    for name, places in counts.items():
        if "[" in name:
            law.update(places)
    own = {name: value for name, value in counts.items() if isinstance(value, int | float)}
    found = {"seconds": row.seconds, **law, **own}
    handled = found.get(_HANDLED.get(row.step, ""))
    if handled is not None and row.seconds > 0:
        found["per_second"] = handled / row.seconds
    return found


def lag_figures(row: Recorded) -> dict[tuple[str, str], float]:
    """Silver table (empty: the source) and figure → what waits, where the step looked."""
    told = json.loads(row.detail).get("lag")
    if told is None:
        return {}
    lag = SourceLag.from_json(json.dumps(told))
    parts = {"": (lag.messages, lag.waits_since)} | {
        table.silver.rpartition(".")[2]: (table.messages, table.waits_since)
        for table in lag.tables
        if table.silver
    }
    found: dict[tuple[str, str], float] = {}
    for table, (messages, since) in parts.items():
        found[table, "messages"] = messages
        seconds = seconds_behind(since, messages, lag.as_of)
        if seconds is not None:
            found[table, "seconds"] = seconds
    return found


def emit(source: str, row: Recorded) -> None:
    """Send a step's figures, and the lag that it saw, to where Airflow sends its own."""
    for name, value in figures(row).items():
        stats.gauge(
            f"lakehouse.{source}.{row.step}.{name}",
            value,
            tags={"source": source, "step": row.step},
        )
    for (table, name), value in lag_figures(row).items():
        middle, tags = (f".{table}", {"table": table}) if table else ("", {})
        stats.gauge(
            f"lakehouse.{source}.lag{middle}.{name}", value, tags={"source": source, **tags}
        )
