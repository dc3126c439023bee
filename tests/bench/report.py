"""A page and plots of what benchmarks measured.

    python -m tests.bench.report RESULTS PAGE     # lines of JSON; Markdown, plots beside it

Of two results of the same thing the later one counts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from infra.setup.extra import extra_environment
from infra.setup.relock import PEERS_LOCK
from tests.bench.results import Kept, Result, load, shown

_HEAD = """# What was measured

Made by `make bench-report` of the results that `make bench` keeps (`docs/benchmarks.jsonl`): two
cores, 24 GiB, the driver's heap as the project sets it. The value is the median of the rounds,
behind it their least and greatest. *Asked* is what the project set out to reach; a row in bold
falls short of it. *Apply* parses the messages, as other programs do; *of parsed messages* says that
`check` had parsed them in the same process, as in a run. What a row sets beside something was
measured together; seconds of two rows may not have been, and the machine is up to half as fast on
some days.
"""
_TITLES = {
    "W1": "W1: Kafka to bronze, beside a consumer of librdkafka that writes Parquet (limit)",
    "W2/W4": "W2 and W4: a batch into a table, beside a DuckDB program without guards (limit)",
    "W3": "W3: many tables in one run",
    "W4": "W4: the same batch into larger tables",
    "W5": "W5: a replay from bronze, beside the same limit",
    "W6": "W6: a run behind many files of bronze",
    "W7": "W7: from a database to the published cut",
}
_PLOTS = """
![CPU of a batch by size of the table](bench-growth.svg)

![CPU of a batch by program](bench-programs.svg)
"""


def page(results: Sequence[Kept]) -> str:
    """The page as Markdown."""
    parts = [_HEAD, _PLOTS]
    for workload, mine in groupby(results, lambda kept: kept.result.workload):
        parts.append(f"\n## {_TITLES.get(workload, workload)}\n")
        parts.append("| Case | Of what | Measured | Asked | Date |")
        parts.append("|---|---|---|---|---|")
        parts.extend(_rows(list(mine)))
    return "\n".join(parts) + "\n"


def _rows(results: Sequence[Kept]) -> Iterator[str]:
    case = ""
    for kept in results:
        result = kept.result
        spread = (
            f" ({shown(result.low)} to {shown(result.high)})" if result.low < result.high else ""
        )
        value = f"{shown(result.value)} {result.unit}{spread}"
        if not reached(result):
            value = f"**{value}**"
        first = "" if result.case == case else result.case
        case = result.case
        yield f"| {first} | {result.name} | {value} | {result.target} | {kept.date} |"


def reached(result: Result) -> bool:
    """Whether the value is what it has to be; true where nothing is asked."""
    kind, _, number = result.target.rpartition(" ")
    if kind not in {"at most", "at least", "more than"}:
        return True
    bound = float(number.replace(",", ""))
    if kind == "at most":
        return result.value <= bound
    return result.value >= bound if kind == "at least" else result.value > bound


def main(results: str, target: str) -> None:
    Path(target).write_text(page(load(Path(results))), encoding="utf-8")
    # What draws is not among the product's own packages.
    python = extra_environment(PEERS_LOCK) / "bin" / "python"
    subprocess.run([python, "-m", "tests.bench.plots", results, Path(target).parent], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
