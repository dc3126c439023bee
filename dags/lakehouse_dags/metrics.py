"""What a step did, in figures, as Airflow metrics (StatsD or OpenTelemetry, whatever is set up).

`lakehouse.<source>.<step>.<figure>` is a gauge of the newest run: `seconds`, the step's own counts,
and those of the law of conservation, over all topic partitions. Tags say source and step again.
"""

from __future__ import annotations

import json
from collections import Counter

from airflow.sdk.observability import stats

from lakehouse_dags.recorded import Recorded


def figures(row: Recorded) -> dict[str, float]:
    """A step's figures by name; those of topic partitions are added up."""
    counts = json.loads(row.counts)
    law: Counter[str] = Counter()
    for name, places in counts.items():
        if "[" in name:
            law.update(places)
    own = {name: value for name, value in counts.items() if isinstance(value, int | float)}
    return {"seconds": row.seconds, **law, **own}


def emit(source: str, row: Recorded) -> None:
    """Send a step's figures to where Airflow sends its own."""
    for name, value in figures(row).items():
        stats.gauge(
            f"lakehouse.{source}.{row.step}.{name}",
            value,
            tags={"source": source, "step": row.step},
        )
